"""How likely a log or a recording is that of a sound training, on the scale of real ones.

The ranking's probability of health was calibrated on the fault zoo, whose trainings are half faulty and all short. What
it meant among real logs of other people was counted on labelled ones (`benchmarks/logs/fit.py`): four numbers, fitted
with every repository left out in turn. What it means of a recording is a table (`benchmarks/wild/fit.py`): of so many
recordings to which the ranking gave about this probability, so many were sound."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import pairwise
from typing import Any

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
        odds = self.intercept + self.ranking * _odds(ranked) + self.problem * problem + self.seen * (problem > 0)
        return min(1 / (1 + math.exp(-odds)), self.conclusive if conclusive else self.highest)


@dataclass(frozen=True)
class Counted:
    """Recordings in order of what the ranking gave to health: of each group its mean, how many were sound and how many
    there are. Groups in which more were sound than in a later one are one group with it."""

    ranked: tuple[float, ...]
    sound: tuple[int, ...]
    known: tuple[int, ...]

    def probability(self, ranked: float) -> float:
        """Between two groups on a straight line of the log odds; half a recording more on each side of a group keeps
        it from certainty."""
        shares = [(sound + 0.5) / (known + 1) for sound, known in zip(self.sound, self.known, strict=True)]
        odds, wanted = [_odds(one) for one in self.ranked], _odds(ranked)
        if wanted <= odds[0] or wanted >= odds[-1]:
            return shares[0] if wanted <= odds[0] else shares[-1]
        after = next(place for place, one in enumerate(odds) if wanted < one)
        along = (wanted - odds[after - 1]) / (odds[after] - odds[after - 1])
        return shares[after - 1] + along * (shares[after] - shares[after - 1])

    def to_json(self) -> dict[str, list[float]]:
        return {
            "ranked": [round(one, 5) for one in self.ranked],
            "sound": list(self.sound),
            "known": list(self.known),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Counted:
        return cls(tuple(data["ranked"]), tuple(data["sound"]), tuple(data["known"]))

    @classmethod
    def of(cls, answers: Sequence[tuple[float, bool]], group: int) -> Counted:
        """From what was given to health and whether it was sound, with so many recordings in a group."""
        ordered = sorted(answers)
        count = max(1, len(ordered) // group)
        cuts = [round(place * len(ordered) / count) for place in range(count + 1)]
        groups = [ordered[start:stop] for start, stop in pairwise(cuts)]
        place = 0
        while place < len(groups) - 1:
            if _share(groups[place]) >= _share(groups[place + 1]):
                groups[place : place + 2] = [groups[place] + groups[place + 1]]
                place = max(place - 1, 0)
            else:
                place += 1
        means = [sum(_odds(one) for one, _ in some) / len(some) for some in groups]
        return cls(
            tuple(1 / (1 + math.exp(-mean)) for mean in means),
            tuple(sum(sound for _, sound in some) for some in groups),
            tuple(map(len, groups)),
        )


def _share(group: Sequence[tuple[float, bool]]) -> float:
    return sum(sound for _, sound in group) / len(group)


def _odds(probability: float) -> float:
    kept = min(max(probability, FARTHEST), 1 - FARTHEST)
    return math.log(kept / (1 - kept))


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
