"""How likely a log is that of a sound training, on the scale of real logs.

The ranking's probability of health was calibrated on the fault zoo, whose trainings are half faulty and all short. What
it meant among real logs of other people was counted on labelled ones (`benchmarks/logs/fit.py`): four numbers, fitted
with every repository left out in turn."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from traindx.diagnosis import Observation
from traindx.symptoms.base import Symptom

DATA = "health.json"
SCHEMA = "traindx.health/1"
FARTHEST = 0.001  # a probability closer to 0 or 1 than this is not believed


@dataclass(frozen=True)
class Health:
    """Log odds of health = intercept + ranking · (log odds of the ranking) + problem · (clarity of the plainest
    problem) + seen, where any problem is present at all."""

    intercept: float
    ranking: float
    problem: float
    seen: float
    source: str
    conclusive: float = 1.0  # what it is at most where something conclusive was seen
    highest: float = 1 - FARTHEST  # and anywhere: the share of sound logs among those that looked soundest

    def probability(self, ranked: float, problem: float, conclusive: bool = False) -> float:
        kept = min(max(ranked, FARTHEST), 1 - FARTHEST)
        odds = (
            self.intercept
            + self.ranking * math.log(kept / (1 - kept))
            + self.problem * problem
            + self.seen * (problem > 0)
        )
        return min(1 / (1 + math.exp(-odds)), self.conclusive if conclusive else self.highest)


@cache
def of_logs() -> Health:
    """The fit that comes with the package."""
    import msgspec

    data = msgspec.json.decode(files(__package__).joinpath(DATA).read_bytes())
    return Health(
        data["intercept"], data["ranking"], data["problem"], data["seen"], data["source"], data["conclusive"],
        data["highest"],
    )  # fmt: skip


def plainest(observations: Sequence[Observation], known: Mapping[str, Symptom]) -> float:
    """How plainly any problem shows at all, 0 to 1."""
    seen = [
        o.clarity for o in observations if o.state == "present" and o.id in known and known[o.id].severity == "problem"
    ]
    return max(seen, default=0.0)
