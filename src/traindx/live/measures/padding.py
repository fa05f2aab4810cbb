"""Measures runs of one target at the ends of sequences, where the input has such runs, too, and whether they count in
the loss."""

from __future__ import annotations

import torch

from traindx.live.events.instrument import Criterion
from traindx.measurements import PaddedTargets


def padding_of(
    call: Criterion, ids: torch.Tensor, targets: torch.Tensor, ignored: int, *, tags: bool = False
) -> PaddedTargets:
    """Rows of tokens with the targets of each. `tags`: the targets are of another kind than the tokens."""
    # what more than half of the rows end with, if anything is
    pad, filler = targets[:, -1].median(), ids[:, -1].median()
    runs, fillers = _run(targets == pad), _run(ids == filler)
    if tags:  # the last words of a sentence may have the tag that padding was given
        runs = torch.minimum(runs, fillers)
    token, weights = int(pad), call.options.get("weight")
    weight = 1.0
    if isinstance(weights, torch.Tensor) and 0 <= token < len(weights):
        weight = float(weights[token])
    return PaddedTargets(
        criterion=call.name,
        share=float(runs.sum() / targets.numel()),
        rows=float((runs >= 2).float().mean()),
        uneven=bool(runs.amax() > runs.amin()),
        filled=float(fillers.sum() / ids.numel()),
        token=token,
        ignore_index=ignored,
        weight=weight,
        where=call.where,
    )


def _run(hits: torch.Tensor) -> torch.Tensor:
    """The length of the run of hits at the end of each row."""
    return hits.long().flip(1).cumprod(1).sum(1)
