"""What recording has cost so far, by kind, and what it may do next."""

from __future__ import annotations

import time
from typing import Literal

DEEP_SHARE = 0.3  # of the budget for deep steps,
SAMPLE_SHARE = 0.1  # for sampled calls,
LIGHT_SHARE = 0.25  # and for what is always on: beyond this, most steps are only counted
FIRST_DEEP = 4  # the first steps are looked at closely whatever they cost: wiring shows there
MOST_BEGINNINGS = 6  # optimisers whose first steps count as such: some trainings build one in every epoch
HELD = 0.9  # of the budget: beyond this, whatever it went for, looks wait until it is paid back
ALL = 1.0  # of the time: whoever allows this much wants every step looked at
# steps, of which one is left alone however cheap looks are: only such a step's time is the training's own. It is odd,
PLAIN_EVERY = 3
# so that of two optimisers in turn both are seen
FIRST_LIGHT = 100  # steps that are reported to everybody,
FEWEST_LIGHT = 20  # or as few, where telling them
LIGHT_SECONDS = 0.15  # has taken so long: hundreds of parameters
FIRST_SAMPLES = 6  # the first evaluations are looked at whatever the budget says,
FIRST_LATE = 64  # the update after which training calls are sampled once at least, and again after half as many more
FIRST_TRIES = 60  # and as many beginnings of what may be one
REST_STEPS = 7  # for which a rest is decided: odd, so that of two optimisers in turn both are seen
REST_GROWS = 700  # steps after which the losses reported during a rest lie further apart,
REST_MOST = 7  # up to this many times two more
FAR_OVER = 4.0  # times the share of what is always on: rests are broken off less often then,
FAR_STEPS = 200  # after as many steps, or when there are twice as many
FULL_STEPS = 50  # between rests that are broken off for a look, at least; a third of the steps so far later
Kind = Literal["deep", "sample_calls", "light", "trace"]


def until_next_loss(step: int) -> int:
    """Steps from one loss that is reported during a rest to the next: an odd number, wider apart the longer the
    training is."""
    return REST_STEPS * (1 + 2 * min(step // REST_GROWS, REST_MOST))


class Budget:
    """Measures by the wall clock, since that is what the user waits for."""

    def __init__(self, share: float) -> None:
        self.share = share
        self.began = time.perf_counter()
        self.spent = 0.0
        self._by_kind: dict[Kind, float] = {"deep": 0.0, "sample_calls": 0.0, "light": 0.0, "trace": 0.0}
        self._samples = {True: 0, False: 0}  # at evaluations, and at training steps
        self._tries = 0  # samples of calls that were to meet an evaluation
        self._beginnings = 0
        self._first_until = FIRST_DEEP
        self._next_late = FIRST_LATE
        self._next_full = 0  # the step at which a rest is broken off; none was had yet

    @property
    def cost(self) -> float:
        """The share of wall time that recording has taken so far."""
        return self.spent / max(time.perf_counter() - self.began, 1e-9)

    @property
    def room(self) -> float:
        """The seconds that are left of what recording may take by now."""
        return self.share * (time.perf_counter() - self.began) - self.spent

    @property
    def _held(self) -> float:
        """The seconds that later looks are held back for: the trace of the first steps is made once, and bounded."""
        return self.spent - self._by_kind["trace"]

    def spend(self, seconds: float, kind: Kind) -> None:
        self.spent += seconds
        self._by_kind[kind] += seconds

    def begin_again(self, step: int) -> bool:
        """An optimiser makes its first update. Whether the steps that follow are looked at like those of the
        beginning: parts of a training may be wired differently."""
        if self._beginnings >= MOST_BEGINNINGS:
            return False
        self._beginnings += 1
        self._first_until = step + FIRST_DEEP
        return True

    def allows_deep(self, step: int, now: float) -> bool:
        if step < self._first_until:
            return True
        plain = self.share < ALL and step % PLAIN_EVERY == 0
        allowed = self.share * (now - self.began)
        return not plain and self._by_kind["deep"] < DEEP_SHARE * allowed and self._held < HELD * allowed

    def allows_call_sample(self, evaluation: bool, step: int) -> bool:
        """Whether calls may be sampled. Evaluations are rare, so that looks at training steps must not use up theirs,
        and a sample in the hope of one counts only once the model is called: see `calls_sampled`. What only a trained
        model shows is looked at a few times whatever the budget says, less and less often."""
        if not evaluation and step >= self._next_late:
            self._next_late = step + step // 2
            return True
        allowed = self.share * (time.perf_counter() - self.began)
        used = self._samples[evaluation] >= FIRST_SAMPLES or (evaluation and self._tries >= FIRST_TRIES)
        if used and max(self._held, self._by_kind["sample_calls"] / SAMPLE_SHARE) >= allowed:
            return False
        if evaluation:
            self._tries += 1
        else:
            self._samples[False] += 1
        return True

    def calls_sampled(self) -> int:
        """A sample of calls has met an evaluation; how many have."""
        self._samples[True] += 1
        return self._samples[True]

    def wants_rest(self, step: int, now: float, resting: bool) -> bool:
        if step % REST_STEPS:
            return resting
        light = self._by_kind["light"]
        if step <= FIRST_LIGHT and (step <= FEWEST_LIGHT or light < LIGHT_SECONDS):
            return False
        budget = self.share * (now - self.began)
        allowed = LIGHT_SHARE * budget
        if step >= self._next_full:
            begins = not self._next_full
            far = light > max(LIGHT_SECONDS, FAR_OVER * allowed)
            self._next_full = step + (max(FAR_STEPS, step) if far else max(FULL_STEPS, step // 3))
            return begins and light > allowed
        return light > allowed or self._held > HELD * budget
