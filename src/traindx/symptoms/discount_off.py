"""discount-off: rewards are discounted by another factor than was meant, or than the task needs."""

from __future__ import annotations

from traindx.diagnosis import Observation
from traindx.measurements import BootstrapTargets, EpisodeEnds, Measured, ValueScale
from traindx.symptoms.base import Case, Symptom, num
from traindx.symptoms.observed import from_measurements, seen
from traindx.thresholds import Threshold

ID = "discount-off"
MIN_LOOKS = Threshold(2, "looks", "the relation must hold more than once")
ABOVE_ONE = Threshold(
    1.001, "the discount", "above 1 the sum of rewards has no bound (Sutton and Barto 2018, section 3.3)"
)
APART = Threshold(
    0.005,
    "between the discount as measured and as set",
    "a fit of exact numbers is off by rounding only, and settings differ by 0.005 or more",
)
MAX_STEPS = 10  # of an n-step target: its factor is the n-th power of the discount
SHORT = Threshold(
    0.8, "the discount", "the tuned settings of RL Baselines3 Zoo lie between 0.9 and 0.9999", strong=0.6, side="below"
)
LONG = Threshold(20, "steps of an episode", "a discount of 0.8 counts about five steps", strong=100)


def judge(measured: Measured) -> Observation | None:
    # a policy that got nowhere ends its episodes early: the longest one tells how far there is to see
    stepped = max(
        (float(max(one.length, one.longest)) for one in measured.latest(EpisodeEnds) if one.episodes), default=0.0
    )
    found: Observation | None = None
    for one in measured.latest(BootstrapTargets):
        if not MIN_LOOKS.reached(one.looks):
            continue
        wrong = _wrong(one, stepped or one.episode)
        if wrong is not None:
            return seen(ID, True, wrong[0], at=one, clarity=wrong[1])
        sentence = "" if one.given is None else f", as set ({num(one.given)})"
        found = found or seen(ID, False, f"Rewards are discounted by {num(one.discount)} a step{sentence}.", at=one)
    return found or _as_set(measured, stepped)


def _as_set(measured: Measured, length: float) -> Observation | None:
    """By what a variable says, where the numbers of the targets were not found."""
    for one in measured.latest(ValueScale):
        if one.discount is None or not MIN_LOOKS.reached(one.looks):
            continue
        if one.discount > 0 and SHORT.reached(one.discount) and LONG.reached(length):
            return seen(
                ID, True, f"The discount is set to {num(one.discount)}, which counts the next "
                f"{1 / (1 - one.discount):.1f} steps, and episodes take up to {length:.0f} steps.",
                at=one, clarity=SHORT.clarity(one.discount),
            )  # fmt: skip
        if ABOVE_ONE.reached(one.discount):
            return seen(
                ID, True, f"The discount is set to {num(one.discount)}: above 1, values grow without bound.", at=one,
                clarity=1.0,
            )  # fmt: skip
    return None


def _wrong(one: BootstrapTargets, length: float) -> tuple[str, float] | None:
    """What is wrong with a discount, and how clearly."""
    if one.form == "return-from-start":
        return (
            f"{one.names[0]} sums the rewards from the first step on: each step is given what came before it, "
            f"discounted by {num(one.discount)}, and not what follows.",
            1.0,
        )
    if ABOVE_ONE.reached(one.discount):
        return f"The discount is {num(one.discount)}: above 1, values grow without bound.", 1.0
    if one.given is not None and 0 < one.given <= 1 and _is_another(one.discount, one.given):
        return (
            f"Rewards are discounted by {num(one.discount)} a step, and the script sets {num(one.given)}.",
            1.0,
        )
    if SHORT.reached(one.discount) and LONG.reached(length):
        horizon = 1 / (1 - one.discount)
        return (
            f"The discount of {num(one.discount)} counts the next {horizon:.1f} steps, and episodes take "
            f"up to {length:.0f} steps.",
            SHORT.clarity(one.discount),
        )
    return None


def _is_another(discount: float, given: float) -> bool:
    return all(APART.reached(abs(discount - given**steps)) for steps in range(1, MAX_STEPS + 1))


SYMPTOM = Symptom(
    id=ID,
    title="rewards are discounted wrongly",
    severity="problem",
    family="value",
    background=0.002,
    needs=("a recording of the training (traindx run)",),
    doc="""
## What is observed
The factor between a target and the value of the next state (or between a return and the next one) is above 1, is not
the one that the script sets, or is so small that only a few steps of long episodes count. Or the rewards are summed
from the first step on, so that each step is credited with what came before it.

## How it is measured
Targets or returns, rewards and next values are found among the variables of the loop, by names or because their
numbers fulfil the recursion (returns also when they were normalised); the factor is fitted to their
numbers and must explain all of them. Powers of the discount up to the tenth are those of n-step targets. It is
compared with the number that a variable named gamma or discount holds, and with the length of the longest episode of
the environment, or of the lists of rewards. Where no such relation was found, that variable alone is compared.

## Healthy range
0.9 to 1, equal to the setting.

## What it usually means
A typing error in the discount, a discount that is applied twice or to the reward of the step itself, or a default of
another task.
""",
    detect=from_measurements(ID, judge),
    cases=(
        Case("above one", "present", measured=(
            BootstrapTargets(looks=4, ends=0, through=0, discount=1.02, given=1.02, form="return"),)),
        Case("applied twice", "present", measured=(
            BootstrapTargets(looks=4, ends=9, through=0, discount=0.5, given=0.99, form="return"),)),
        Case("short-sighted", "present", measured=(
            BootstrapTargets(looks=4, ends=9, through=0, discount=0.3, given=0.3, form="next-value"),
            EpisodeEnds(steps=4000, episodes=40, terminated=40, truncated=0, length=100, returns=100,
                        first_returns=20, best_returns=100, reward_low=1, reward_high=1, observation=3,
                        observations=4000, looked=4000),)),
        Case("short-sighted in lists", "present", measured=(
            BootstrapTargets(looks=4, ends=0, through=0, discount=0.3, given=None, form="return", episode=60),)),
        Case("summed the wrong way round", "present", measured=(
            BootstrapTargets(looks=4, ends=0, through=0, discount=0.99, given=None, form="return-from-start",
                             names=("togo", "pay"), episode=60),)),
        Case("three steps at once", "absent", measured=(
            BootstrapTargets(looks=4, ends=9, through=0, discount=0.970299, given=0.99, form="next-value"),)),
        Case("as set", "absent", measured=(
            BootstrapTargets(looks=4, ends=9, through=0, discount=0.99, given=0.99, form="next-value"),)),
        Case("short-sighted by a setting", "present", measured=(
            ValueScale(looks=20, first=0.01, last=0.01, largest=0.02, reward=0.01, discount=0.1, rising=0.1),
            EpisodeEnds(steps=3000, episodes=240, terminated=240, truncated=0, length=12, returns=12,
                        first_returns=25, best_returns=25, reward_low=1, reward_high=1, observation=3,
                        observations=2000, looked=2000, longest=72),)),
        Case("one look", "unknown", measured=(
            BootstrapTargets(looks=1, ends=9, through=0, discount=0.5, given=0.99, form="next-value"),)),
        Case("a log alone", "unknown"),
    ),
)  # fmt: skip
