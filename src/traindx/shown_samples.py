"""Single samples with label, prediction and loss, for whoever shows them: which of a recording, and as JSON with and
without the user's data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from traindx.measurements import Measured, ShownSample, ShownSamples


def samples_of(measured: Iterable[Measured]) -> tuple[ShownSamples, ...]:
    """The last ones that were kept of each loss: what the model gets wrong at the end."""
    last: dict[str, ShownSamples] = {}
    for rank in measured:
        for one in rank.all(ShownSamples):
            if one.samples and (one.where not in last or one.seen >= last[one.where].seen):
                last[one.where] = one
        if last:
            break  # other ranks train on other parts of the same data
    return tuple(last.values())


def to_json(found: ShownSamples, texts: bool) -> dict[str, Any]:
    """`texts`: with what the samples hold. Without, rows, losses and classes only."""
    numbers = found.labels == "number"
    return {
        "step": found.step, "seen": found.seen, "where": found.where, "criterion": found.criterion,
        "labels": found.labels, "rows": found.rows, "looked_at": found.looked_at, "shape": list(found.shape),
        "private": found.private or not texts,
        "samples": [(one if texts else _without_data(one, numbers))._asdict() for one in found.samples],
    }  # fmt: skip


def from_json(data: Mapping[str, Any]) -> ShownSamples:
    return msgspec.convert({**data, "samples": [list(sample.values()) for sample in data["samples"]]}, ShownSamples)


def _without_data(sample: ShownSample, numbers: bool) -> ShownSample:
    bare = sample._replace(range=(), numbers=(), size=(), picture="")
    return bare._replace(label=(), prediction=()) if numbers else bare
