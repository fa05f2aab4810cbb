"""What arms came to, and the verdict on a change by its pairs of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from traindx.diagnosis import Diagnosis
from traindx.symptoms import symptoms
from traindx.trials.judge import MIN_EFFECT, Basis, Effect, Verdict, basis_of, effect_of, verdict_of
from traindx.trials.measure import Measured, metric_for
from traindx.trials.plan import Candidate

GRAVE = ("nonfinite-loss", "nonfinite-weight", "divergence")


@dataclass(frozen=True)
class Arm:
    """What one arm came to. `failed` says why there is nothing to compare."""

    page: Diagnosis | None
    measured: Measured | None
    failed: str | None = None

    def present(self) -> dict[str, float]:
        return {} if self.page is None else {symptom.id: symptom.clarity for symptom in self.page.present()}

    def absent(self) -> set[str]:
        return set() if self.page is None else {s.id for s in self.page.symptoms if s.state == "absent"}


@dataclass(frozen=True)
class Trial:
    """A change and its verdict."""

    candidate: Candidate
    verdict: Verdict
    effect: Effect | None
    wanted: tuple[str, ...]
    cleared: tuple[str, ...]
    seeds: int
    steps: int
    cost: float = 1.0  # seconds of a step, in those of the unchanged script
    note: str = ""  # why it failed
    brought: tuple[str, ...] = ()  # problems that came with it in every pair: its side effects

    @property
    def open(self) -> bool:
        """It looked good in its only pair and was not followed up: that is neither help nor the lack of it."""
        return (
            self.verdict == "no-effect"
            and self.effect is not None
            and self.effect.pairs == 1
            and self.effect.size >= MIN_EFFECT
        )

    @property
    def repaired(self) -> bool:
        return repaired(self.candidate, self.wanted, self.cleared)

    @property
    def basis(self) -> Basis | None:
        """What 'helped' rests on: a smaller error, or a fault that is gone."""
        return basis_of(self.verdict, self.effect, speed=self.candidate.judged == "speed")

    def _repr_html_(self) -> str:
        """How notebooks show it."""
        from traindx.trials.page import fragment_of_trial

        return fragment_of_trial(self)


def judged(candidate: Candidate, pairs: Sequence[tuple[Arm, Arm]]) -> Trial:
    before, after = pairs[0]
    failed = next((arm.failed for _, arm in pairs if arm.failed), None)
    idle = next((arm for _, arm in pairs if arm.measured and any(not n for n in arm.measured.acted.values())), None)
    if failed is None and idle is not None:
        failed = "there was nothing for it to change"
    steps = max((arm.measured.steps for _, arm in pairs if arm.measured), default=0)
    if failed is not None or not before.measured or not after.measured:
        return Trial(candidate, "failed", None, (), (), len(pairs), steps, note=failed or "nothing was measured")
    wanted = tuple(symptom for symptom in candidate.clears if symptom in before.present())
    cleared = tuple(symptom for symptom in wanted if all(symptom in arm.absent() for _, arm in pairs))
    broke = [s for s in GRAVE if all(s in arm.present() and s not in first.present() for first, arm in pairs)]
    first, second = before.measured, after.measured
    metric = metric_for(before.measured, after.measured, candidate.judged)
    effect = None
    if metric is not None:
        values = [(a.measured.value(metric), b.measured.value(metric)) for a, b in pairs if a.measured and b.measured]
        values = [pair for pair in values if not any(map(math.isnan, pair))]
        effect = effect_of(metric.name, metric.floor, values, first.chance(metric)) if values else None
    verdict = verdict_of(
        effect, wanted, cleared, broke, speed=candidate.judged == "speed",
        repaired=repaired(candidate, wanted, cleared), pairs=len(pairs),
    )  # fmt: skip
    cost = (
        (second.seconds / second.steps) / (first.seconds / first.steps)
        if first.steps and second.steps and first.seconds
        else 1.0
    )
    return Trial(
        candidate,
        verdict,
        effect,
        wanted,
        cleared,
        len(pairs),
        steps,
        cost,
        f"brings {', '.join(broke)}" if broke else "",
        _brought(pairs),
    )


def repaired(candidate: Candidate, wanted: Sequence[str], cleared: Sequence[str]) -> bool:
    """A fault that the recording had seen itself is gone in every pair."""
    proofs = set(candidate.proofs) & set(wanted)
    return bool(proofs) and proofs <= set(cleared)


def _brought(pairs: Sequence[tuple[Arm, Arm]]) -> tuple[str, ...]:
    """Problems that were ruled out without the change and are there with it, in every pair."""
    came = [after.present().keys() & before.absent() for before, after in pairs]
    return tuple(sorted(one for one in set.intersection(*map(set, came)) if symptoms()[one].severity == "problem"))
