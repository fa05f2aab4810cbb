"""reward-flat: the reward does not rise."""

from __future__ import annotations

from traindx.diagnosis import Observation
from traindx.signals import Signals
from traindx.symptoms.base import Case, Symptom, num
from traindx.symptoms.policy import NOT_RL, STILL, TREND_ROWS, moved, span, tells, trend
from traindx.symptoms.recipes import flat, ramp

ID = "reward-flat"
CONSTANT = 1.0
EQUAL = 10  # rewards that are equal to the last digit, as for a loss that never moves
EQUAL_LOSSES = 5  # the same where each of them is below 0, as a game that is always lost
LOST = 0.6  # how clear that is: a path that is always as short as can be looks the same
BEGUN = 0.2  # of the last step: a log that begins later may show a policy that has arrived
NOISY = 0.5  # how clear it can be: slow learning looks the same for a while


def detect(signals: Signals) -> Observation:
    curve = signals.reward
    if signals.kind != "rl" or curve is None or not len(curve):
        return Observation(ID, "unknown", NOT_RL)
    first, now = num(curve.logged(curve.initial)), num(curve.logged(curve.now))
    score = signals.score
    if curve.constant and score is not None and signals.main is score and not score.constant:
        return Observation(
            ID, "absent", f"{curve.name} is {now} in all {len(curve)} rows, as the returns of games against oneself "
            f"are; {score.name} moves.",
        )  # fmt: skip
    few = len(curve) < EQUAL
    if curve.constant and (not few or (len(curve) >= EQUAL_LOSSES and curve.logged(curve.now) < 0)):
        clear = LOST if few else CONSTANT if curve.x[0] <= BEGUN * curve.x[-1] else NOISY
        return Observation(ID, "present", f"{curve.name} is {now} in all {len(curve)} rows.", span(curve.series),
                           curve.name, clear)  # fmt: skip
    if not tells(curve):
        return Observation(
            ID, "unknown", f"{curve.name} has {len(curve)} values; {TREND_ROWS.value:.0f} can show a trend."
        )
    if moved(curve):
        return Observation(ID, "absent", f"{curve.name} moved from {first} to {now}.")
    return Observation(
        ID, "present",
        f"{curve.name} is {now} after {len(curve)} rows and was {first} at first: no trend beyond its noise "
        f"(z = {trend(curve) * -1:.1f}).",
        span(curve.series), curve.name, min(NOISY, STILL.clarity(abs(trend(curve)))),
    )  # fmt: skip


SYMPTOM = Symptom(
    id=ID,
    title="reward does not rise",
    severity="problem",
    family="reward",
    background=0.1,
    needs=("reward",),
    doc="""
## What is observed
The reward ends where it began.

## How it is measured
On at least 40 logged rewards, in up to sixty pieces: no trend (Mann-Kendall below 1.5 standard deviations) and no
difference between the first and the last quarter beyond twice the uncertainty of a level. A reward that is the same
number in ten rows or more (five below 0) is plain, if the log begins with the run; otherwise it counts half, because
slow learning looks the same for a while.

## Healthy range
Rewards are noisy and may rise late. Two or three seeds settle what one cannot.

## What it usually means
Rewards equal within every group, answers that are cut before they can earn anything, a reward computed on the wrong
text, a learning rate that is too small, or an update that does nothing.
""",
    detect=detect,
    cases=(
        Case("the same number in every row", "present", lambda: {"reward": flat(60, 0.0), "reward_std": flat(60, 0.0)}),
        Case("twelve times the same number", "present",
             lambda: {"ep_rew_mean": [0.016] * 12, "ep_len_mean": [2530.0] * 12}),
        Case("five times the lowest number of a game", "present",
             lambda: {"mean 100 episode reward": (range(5_900_000, 6_300_000, 80_000), [-21.0] * 5)}),
        Case("noise without a trend", "present",
             lambda: {"reward": flat(200, 0.4, 0.3, 3), "reward_std": flat(200, 0.3, 0.1)}),
        Case("a game against oneself", "absent",
             lambda: {"return_mean": flat(60, 0.0), "win_rate": ramp(60, 0.4, 0.7, 0.05)}),
        Case("it rises", "absent", lambda: {"reward": ramp(100, 0.2, 0.6, 0.1), "reward_std": flat(100, 0.3, 0.1)}),
        Case("ten values", "unknown", lambda: {"reward": flat(10, 0.4, 0.3), "reward_std": flat(10, 0.3, 0.1)}),
        Case("no reward", "unknown", lambda: {"loss": flat(100, 2.0)}),
    ),
)  # fmt: skip
