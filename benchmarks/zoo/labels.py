"""What is true of a specimen, and what may be expected from each level of evidence."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from traindx.diagnosis import Observation
from traindx.engine.context import Hint
from traindx.symptoms import symptoms

HARM = 0.05  # of the way from chance to perfect, lost at the end or on the way: less is no damage
LEVELS = ("curve", "live", "probes")
# Causes that leave a mark of their own in a curve or in logged settings. The others look like each other there: a head
# that is not optimised, a cut graph and frozen layers draw the same line, and gradients that are summed over batches or
# never cleared that of a rate which is too high.
TRACED = {
    "lr-too-high", "lr-too-low", "lr-decayed-too-early", "lr-decay-missing", "warmup-missing", "momentum-too-high",
    "weight-decay-too-high", "dropout-too-high", "batch-too-small", "loss-sum-reduction", "too-few-epochs",
    "overfitting",
    "loss-sign-flipped", "val-preprocessing-mismatch", "train-val-label-mismatch",
}  # fmt: skip


BY_SETTING = {
    "momentum-too-high",
    "weight-decay-too-high",
    "dropout-too-high",
    "batch-too-small",
}  # only where the log tells them


@dataclass(frozen=True)
class Specimen:
    name: str
    causes: tuple[str, ...]
    right: frozenset[str]  # any of these first is a right answer
    kind: str  # healthy, fault, harmless, pair
    task: str
    optimizer: str
    level: int
    variant: str
    evidence: dict[str, Any]
    trace: dict[str, Any]
    told: bool
    spec: dict[str, Any]

    def observations(self, level: str) -> tuple[Observation, ...]:
        return tuple(
            Observation(name, "present" if present else "absent", "", None, None, clarity)
            for name, present, clarity in self.evidence[level]["observations"]
        )

    def hints(self, level: str) -> list[Hint]:
        return [Hint(cause, odds, "") for cause, odds in self.evidence[level]["hints"]]

    def shows(self, level: str) -> bool:
        """Some problem is to be seen at all."""
        known = symptoms()
        return any(
            p and i in known and known[i].severity == "problem" for i, p, _ in self.evidence[level]["observations"]
        )

    def visible(self, level: str) -> bool:
        """The cause is to be seen at this level: a problem shows and, in a curve, one with a mark of its own."""
        traced = set(self.causes) <= (TRACED if self.told else TRACED - BY_SETTING)
        return self.shows(level) and (level != "curve" or traced)


def damage(result: dict[str, Any]) -> float:
    """What the fault cost against the healthy twin: of the final score, or of the score on the way."""
    own, twin = result["outcome"], result["twin"]
    mean_own, mean_twin = sum(own["way"]) / len(own["way"]), sum(twin["way"]) / len(twin["way"])
    return float(max(twin["score"] - own["score"], mean_twin - mean_own))


def specimens(paths: list[Path]) -> Iterator[Specimen]:
    for path in paths:
        text = gzip.decompress(path.read_bytes()).decode() if path.suffix == ".gz" else path.read_text()
        for line in text.splitlines():
            result = json.loads(line)
            if not result.get("failed"):
                yield _specimen(result, path.parent.name)


def _specimen(result: dict[str, Any], source: str) -> Specimen:
    spec = result["spec"]
    causes = tuple(spec["causes"])
    right = {*causes, *result["alternatives"]} if causes else {"healthy"}
    kind = "healthy" if not causes else "pair" if len(causes) > 1 else "fault"
    if kind == "fault" and result["degree"] and damage(result) < HARM:
        kind = "harmless"
        right.add("healthy")
    return Specimen(
        f"{source}/{spec['name']}", causes, frozenset(right), kind, spec["task"], spec["optimizer"], spec["level"],
        spec["variant"],
        result["levels"], result["trace"], result["told"], spec,
    )  # fmt: skip
