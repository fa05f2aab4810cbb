"""flat-from-start: the loss never moves beyond its noise."""

from __future__ import annotations

import numpy as np

from traindx.diagnosis import Observation
from traindx.meaning import tokens_of
from traindx.run import Fact
from traindx.signals import Signals
from traindx.signals.choose import usable
from traindx.signals.curve import MAX_BINS, Curve
from traindx.signals.progress import MOVED, SLIGHT_TREND, Progress
from traindx.signals.scatter import lost_in_noise, scatters
from traindx.signals.score import Score, top_of
from traindx.signals.started import begins_late, fine_tuning, trained_before
from traindx.signals.stats import mann_kendall
from traindx.symptoms.base import Case, Symptom, apart, clarity, num, percent
from traindx.symptoms.policy import TREND, at_its_top, late, named, rivals, rose, trend
from traindx.symptoms.recipes import falling, flat, ramp, then

ID = "flat-from-start"
PLAIN_SHARE = 0.01  # of the first value: so little is plainly nothing
NOISE_SHARE = 0.15  # up to here a gain may still be nothing but the noise of the values,
RANKS_SHARE = 0.5  # and up to here where the first values rank no higher than the later ones
AT_CHANCE = 1.5  # times one in the number of classes: an accuracy that guessing reaches
GOOD = (
    0.3  # of the highest score: a model that knows nothing seldom begins there, unless there are two or three classes
)
ABOVE_ZERO = 0.1  # of the highest score, where a model that knows nothing has none
KNOWS_SOME = 0.7  # of all words wrong: an error rate that begins below was not begun here
# scores of found boxes, matching phrases, right answers: guessing gives next to nothing
_FROM_ZERO = frozenset("map map50 map75 map95 ap ap50 ap75 aps apm apl ar bleu bleu4 sacrebleu rouge rouge1 rouge2 "
                       "rougel "
                       "rougelsum chrf meteor cider spice em exact mrr ndcg hmean".split())  # fmt: skip
_RATES = frozenset({"wer", "cer", "per", "ter"})
MIN_PARTS = 2  # of a sum
PART_FELL = 0.15  # of the first value of another loss
_WHOLE = frozenset("loss losses train training total overall avg average mean batch epoch step running global".split())
LEVELS = 5.0  # times the uncertainty of a level: what was gained beyond this is no noise
MIN_POINTS = 5
RL_START = 0.05  # of the run, in which a mean of few episodes may move
RL_SHARE = 0.3  # of the first return: what it may move by
RL_VALUES = 50
RL_CLEAR = 0.4
NO_MORE_THAN_NOISE = 0.6  # how clear a gain is that may be nothing but noise,
A_COURSE = 7  # and one in fewer values than these
TOO_FEW = 10  # values, whose scatter cannot be told from their course:
RISEN = 0.25  # of the best, and worse than at the start, is no rest
LOST_CLEAR = 0.3  # where learning, if there is any, does not show through the scatter
LEAST_GAIN = 0.01  # of the highest score: a rank of 0.004 that becomes 0.006 is chance
MARGIN_RISES = 3.0  # standard deviations (Mann-Kendall): one in 700 without a trend
CONSTANT = 10  # values that are equal to the last digit
ZEROS = 3  # of a training loss, where each of them is 0,
NOTHING = 1e-12  # or what is left where terms cancel


def _stays(curve: Curve, share: float, by_share: bool) -> str:
    """How little it moved, beside what it was compared with: a share above the threshold was judged by its noise."""
    start, best = apart(curve.logged(curve.initial), curve.logged(curve.best))
    if curve.best >= curve.initial:
        return f"{curve.level_name} never got better than where it began ({start}) in {len(curve)} values."
    course = f"{curve.level_name} went from {start} to {best} at best"
    if not by_share:
        return f"{course} in {len(curve)} values: no more than its noise."
    works = f"a training that works changes it by {percent(MOVED.value)} or more"
    return f"{course}, a change of {percent(max(share, 0))}; {works}."


def detect(signals: Signals) -> Observation:
    curve = signals.main
    same = _one_number(curve, _is_made_by_a_model(signals)) if curve is not None and len(curve) else None
    if same is not None:
        return same
    if curve is None or len(curve) < MIN_POINTS:
        return Observation(ID, "unknown", "Too few values of an objective to see whether it moves.")
    before = begins_late(signals, curve) or trained_before(signals) or _good_at_once(signals, curve)
    course = Progress(curve)
    if before:
        moved = course.moved and MOVED.reached(course.share)
        return Observation(ID, "absent", f"{_improved(curve)}.") if moved else Observation(ID, "unknown", before)
    gain, share, scatter = course.gained, course.share, max(curve.level_noise, 1e-300)
    first, last = float(curve.x[0]), float(curve.x[-1])
    few = len(curve) < TOO_FEW and curve.now > curve.initial and curve.rise > RISEN * abs(curve.best)
    if few or curve.rise > max(4 * scatter, 0.1 * abs(curve.best)):
        return Observation(ID, "absent", f"{curve.name} moves: it now stands {num(curve.rise)} off its best.")
    if signals.kind == "rl" and (rose(curve) or rivals(signals)):
        said = rivals(signals) or f"went to {num(curve.logged(curve.now))}."
        return Observation(ID, "absent", f"{curve.name} was {num(curve.logged(curve.initial))} at first: {said}")
    other = _improved_elsewhere(signals)
    by_share = signals.kind != "rl" and not MOVED.reached(share)
    by_noise = (
        (share < NOISE_SHARE or signals.kind == "rl")
        and gain < 2 * max(curve.noise, scatter)
        and gain < LEVELS * scatter  # single episodes scatter widely; thousands of them tell the level well
        and not SLIGHT_TREND.reached(course.trend)
    ) or (course.by_ranks is False and _of_the_whole(signals, curve, course) < RANKS_SHARE)
    if (by_share or by_noise) and not other and (signals.kind == "rl" or not scatters(curve)):
        return _excused(signals, curve, by_share) or _resting(curve, course, by_share)
    if not other and signals.kind != "rl" and lost_in_noise(curve):
        return Observation(
            ID, "present",
            f"The {len(curve)} values of {curve.name} scatter so widely that no movement shows: single samples, or "
            f"tiny batches?",
            (first, last), curve.name, LOST_CLEAR,
        )  # fmt: skip
    if signals.kind == "rl" and _rests_since_the_start(curve, share):
        return Observation(
            ID, "present",
            f"{curve.name} is {num(curve.logged(curve.now))} now and was no worse after the first {percent(RL_START)} "
            f"of the run; "
            f"it began at {num(curve.logged(curve.initial))}.",
            (first, last), curve.name, RL_CLEAR,
        )  # fmt: skip
    if not other and gain <= 0:
        return Observation(
            ID, "absent", f"{curve.name} scatters widely, and its values lie lower than its first ones did."
        )
    detail = f", and {other} improved" if other else ""
    return Observation(
        ID,
        "absent",
        f"{_improved(curve)}{detail}.",
    )


def _improved(curve: Curve) -> str:
    return f"{curve.name} improved from {num(curve.logged(curve.initial))} to {num(curve.logged(curve.best))}"


def _resting(curve: Curve, course: Progress, by_share: bool) -> Observation:
    clear = clarity(-course.share, -MOVED.value, -PLAIN_SHARE) if by_share else NO_MORE_THAN_NOISE
    clear = min(clear, NO_MORE_THAN_NOISE) if len(curve) < A_COURSE else clear
    steps = (float(curve.x[0]), float(curve.x[-1]))
    return Observation(ID, "present", _stays(curve, course.share, by_share), steps, curve.name, clear)


def _excused(signals: Signals, curve: Curve, by_share: bool) -> Observation | None:
    """A fine-tuning gains most in its first steps; noise that would hide what is looked for hides it there. The noise
    of one part hides that the others fell."""
    other = "" if by_share else _most_parts_fell(signals)
    if other:
        return Observation(ID, "absent", f"{curve.name} is lost in the noise of one of its parts, but {other} fell.")
    still = any(not one.values.any() for one in signals.run.of("grad_norm") if len(one) >= MIN_POINTS)
    tuned = fine_tuning(signals) if signals.kind != "rl" and curve.sign > 0 and not still else ""
    if not tuned or (by_share and curve.level_noise <= MOVED.value * abs(curve.initial)):
        return None
    text = f"{curve.name} scatters too widely to tell whether it gained {percent(MOVED.value)}; {tuned}."
    return Observation(ID, "unknown", text)


def _of_the_whole(signals: Signals, curve: Curve, course: Progress) -> float:
    """What was gained: as a share of the first value, of a score as a share of its top. A success rate that goes from
    0.05 to 0.08 by chance has gained half of its first value."""
    scored = curve.sign < 0 and signals.kind == "supervised"
    return min(course.share, course.gained / top_of(curve.series.values)) if scored else course.share


def _rests_since_the_start(curve: Curve, share: float) -> bool:
    """A mean over the last hundred episodes scatters while it has few of them; what it gained then is little and all
    there is."""
    settled = curve.bins.median[curve.bins.x > curve.x[0] + RL_START * (curve.x[-1] - curve.x[0])]
    if not 0 <= share < RL_SHARE or len(settled) < TOO_FEW or len(curve) < RL_VALUES:
        return False
    since = float(np.median(settled[: len(settled) // 5])) - curve.best
    return since < LEVELS * max(curve.level_noise, curve.noise) and curve.tail_trend(1.0)[1] > -2.0


def _good_at_once(signals: Signals, curve: Curve) -> str:
    """A score that is good from the first value on was reached before this log; where it rests may be all there is to
    gain."""
    if signals.kind != "supervised":
        return at_its_top(signals)
    value = curve.logged(curve.initial)
    words = set(tokens_of(curve.name))
    if curve.sign > 0:
        rate = bool(words & _RATES) and curve.series.meaning.kind != "loss"
        rate = rate and 0 < value < KNOWS_SOME * top_of(curve.series.values)
        return f"{curve.name} begins at {num(value)}, far from all wrong: much had been learnt before." if rate else ""
    least = GOOD
    if words & _FROM_ZERO:
        least = ABOVE_ZERO
    elif signals.classes is not None:
        least = min(GOOD, 2 * AT_CHANCE / signals.classes[0])
    if value < least * top_of(curve.series.values):
        return ""
    return f"{curve.name} begins at {num(value)}: much had been learnt before, and resting there may be well."


def _is_made_by_a_model(signals: Signals) -> bool:
    """A training loss that differs from batch to batch where anything is learnt, and beside which nothing moves."""
    train = signals.train
    supervised = signals.kind == "supervised" and (signals.trainer is None or signals.trainer.task == "supervised")
    if train is None or train is not signals.main or not supervised or train.sign < 0:
        return False
    norm = signals.grad_norm  # None where it is always 0
    return norm is None and not _improved_elsewhere(signals)


def _one_number(curve: Curve, certain: bool) -> Observation | None:
    """The same number to the last digit, value after value: nothing moves, wherever the log begins. `certain`: a loss
    that would move, so that a handful of zeros is enough."""
    if not curve.constant:
        return None
    value = curve.logged(float(curve.y[0]))
    if len(curve) < CONSTANT and (not certain or abs(value) > NOTHING or len(curve) < ZEROS):
        return None
    if curve.sign < 0 and value in (1.0, 100.0):
        return Observation(ID, "absent", f"{curve.name} is at its top, {num(value)}, in all {len(curve)} values.")
    return Observation(
        ID, "present", f"{curve.name} is {num(value)} in all {len(curve)} values, the same to the last digit.",
        (float(curve.x[0]), float(curve.x[-1])), curve.name, 1.0, conclusive=certain,
    )  # fmt: skip


def _first_epoch(curve: Curve) -> bool:
    """Averages of whole epochs, the first of which made most of the way; the rest falls on beyond doubt."""
    first = float(curve.y[0]) - float(curve.y[1])
    falls_on = mann_kendall(curve.y[1:]) < -MARGIN_RISES if len(curve) <= MAX_BINS else False
    return curve.series.axis == "epoch" and first > 2 * MOVED.value * abs(float(curve.y[0])) and falls_on


def _improved_elsewhere(signals: Signals) -> str:
    """A score that clearly rose shows learning even where the loss barely moves, as that of pairs of answers does under
    a small beta."""
    if signals.kind == "rl":
        return ""
    margin = named(signals, "margin")
    has_margin = margin is not None and len(margin) >= MIN_POINTS and late(margin) > 0
    if margin is not None and has_margin and TREND.reached(-trend(Curve(margin, -1.0))):
        return margin.name
    train = signals.train
    if train is not None and len(train) >= MIN_POINTS and _first_epoch(train):
        return f"{train.name}, from {num(float(train.y[0]))},"
    part = _part_that_fell(signals) or _error_that_fell(signals)
    if part:
        return part
    return next((said for one in (signals.score, signals.train_score) if (said := _rose(signals, one))), "")


def _part_that_fell(signals: Signals) -> str:
    """Where no loss is called that of the whole: another of the losses, which learning made fall."""
    train = signals.train
    if train is None or set(tokens_of(train.name)) <= _WHOLE:
        return ""
    others = [Curve(one) for one in usable(signals.run, "loss") if one.meaning.split in ("", "train")]
    courses = [Progress(one) for one in others if one.name != train.name and len(one) == len(train)]
    return next((one.curve.name for one in courses if one.moved and one.share > PART_FELL), "")


def _error_that_fell(signals: Signals) -> str:
    """A measure of error, of which lower is better as of a loss."""
    errors = [Progress(Curve(one)) for one in usable(signals.run, "error") if len(one) >= MIN_POINTS]
    return next((one.curve.name for one in errors if one.moved and one.share > PART_FELL), "")


def _most_parts_fell(signals: Signals) -> str:
    """Where the sum is lost in the noise of one of its parts: the others, most of which learning made fall."""
    train = signals.train
    if train is None or signals.kind != "supervised" or not set(tokens_of(train.name)) <= _WHOLE:
        return ""
    parts = [Curve(one) for one in usable(signals.run, "loss") if one.meaning.split in ("", "train")]
    courses = [Progress(one) for one in parts if one.name != train.name and len(one) == len(train)]
    fell = [one.curve.name for one in courses if one.moved and one.share > PART_FELL]
    return fell[0] if len(fell) >= MIN_PARTS and 2 * len(fell) > len(courses) else ""


def _rose(signals: Signals, score: Curve | None) -> str:
    if score is None or len(score) < MIN_POINTS:
        return ""
    gain = score.progress
    accuracy = signals.classes is not None and "acc" in score.name.lower()
    if accuracy and signals.classes is not None and Score(score).best < AT_CHANCE / signals.classes[0]:
        return ""
    least = LEAST_GAIN * top_of(score.series.values)
    if gain > 5 * score.level_noise and gain > max(0.15 * abs(score.best), least):
        return score.name
    return ""


SYMPTOM = Symptom(
    id=ID,
    title="loss never moves",
    severity="problem",
    family="no-progress",
    background=0.03,
    needs=("loss",),
    doc="""
## What is observed
From the first value to the last the loss stays where it began, up to its noise.

## How it is measured
The best level held over a tenth of the run is compared with the first values. Present when less than 3.5 % of the
initial loss was gained, or when the gain is within twice the point-to-point noise and no falling trend shows. A score,
of training too, that clearly rose (15 % of its best value and five times its noise) speaks against it, as does a margin
between chosen and rejected answers that grows. A return that moved by less than 30 % in the first twentieth of the run,
while its mean held few episodes, and no further since counts, with little weight; one that rose from its first quarter
to its last does not, nor one of several agents of which another earns more. Ten values that are equal to the last digit
are enough wherever the log begins. Otherwise a log that begins in the middle of a run cannot tell, nor can a recording
whose first losses lie far below what guessing gives: that model was trained before. Where a score is all that was
logged, one that begins above 30 % and rests there cannot tell either; nor can an accuracy three times that of guessing,
a mAP or BLEU above 10 %, or a word error rate below 70 %. Where a trained model is fine-tuned, noise that would hide a
gain of 3.5 % cannot tell either. Where the sum of several losses is lost in its noise, most of its parts having fallen
by 15 % speaks against it.

## Healthy range
Even difficult tasks lose 10 % of their initial loss within the first epoch. During a learning-rate warm-up the loss may
rest; that is why the whole run counts, not its beginning.

## What it usually means
Nothing reaches the weights (frozen or forgotten parameters, a detached graph), the step is far too small or so large
that units died at once, or the loss cannot see the labels (wrong pairing, wrong activation). More epochs do not help.
""",
    detect=detect,
    cases=(
        Case("pairs with a small beta: the margin rises", "absent",
             lambda: {"loss": ramp(16, 0.692, 0.68), "rewards/chosen": ramp(16, 0.002, 0.012),
                      "rewards/rejected": ramp(16, 0.0, -0.014), "rewards/margins": ramp(16, 0.002, 0.026),
                      "rewards/accuracies": ramp(16, 0.475, 0.875)}),
        Case("one noisy part hides that the others fall", "absent",
             lambda: {"loss_total": falling(100, 1.1, 0.6, 0.6), "loss_rmse": falling(100, 0.13, 0.04),
                      "loss_det": falling(100, 0.1, 0.03), "loss_alpha": flat(100, 0.5, 0.5)}),
        Case("a fine-tuning without a gradient", "present",
             lambda: {"loss": flat(60, 2.1, 0.05), "grad_norm": flat(60, 0.0, 0)}, {"peft_type": "LORA"}),
        Case("a measure of error falls", "absent",
             lambda: {"loss_total": falling(100, 1.1, 1.0, 0.6),
                      "test_rmse": (range(0, 100, 10), falling(10, 0.2, 0.1))}),
        Case("the first noisy rows of a fine-tuning", "unknown",
             lambda: {"loss": flat(9, 0.155, 0.1), "grad_norm": flat(9, 0.6, 0.3)}, {"peft_type": "LORA"}),
        Case("stuck at ln 10", "present", lambda: {"train_loss": flat(200, 2.303, 0.004)}),
        Case("ordinary descent", "absent", lambda: {"train_loss": falling(200, 2.3, 0.4)}),
        Case("loss rests while accuracy climbs", "absent",
             lambda: {"train_loss": flat(60, 0.70, 0.004), "val_accuracy": 1 - falling(60, 0.5, 0.1)}),
        Case("pairs told apart under a small beta", "absent",
             lambda: {"loss": ramp(16, 0.692, 0.679, 0.001), "rewards/chosen": ramp(16, 0.0, 0.016),
                      "rewards/rejected": ramp(16, 0.0, -0.014), "rewards/margins": ramp(16, 0.0, 0.03),
                      "rewards/accuracies": ramp(16, 0.55, 0.91, 0.03)}),
        Case("two agents against each other", "absent",
             lambda: {"Avg prey reward": then(flat(100, -0.19, 0.005), flat(100, -0.225, 0.005, 1)),
                      "Avg predator reward": ramp(200, 0.3, 0.5, 0.01)}),
        Case("fine-tuning", "unknown", lambda: {"train_loss": flat(60, 0.5, 0.01), "val_loss": flat(6, 0.5, 0.01)},
             {"mse_target_variance": 1.0}, facts=(Fact("no-gradient", False, "All receive one."),)),
        Case("far below chance in training only", "present",
             lambda: {"train_loss": flat(60, 0.5, 0.004), "val_loss": flat(6, 1.0, 0.004)},
             {"mse_target_variance": 1.0}, facts=(Fact("no-gradient", False, "All receive one."),)),
        Case("resumed in the middle", "unknown", lambda: {"train_loss": (range(9000, 10000, 10), flat(100, 0.5))}),
        Case("one number, begun late", "present", lambda: {"train_loss": (range(1300, 5000, 50), [16.7422] * 74)}),
        Case("a return that rests once its mean is filled", "present",
             lambda: {"ep_rew_mean": then(np.array([19.2, 17.2, 21.2, 22.8]), flat(220, 22.5, 0.04, 3))}),
        Case("a score that is good at once", "unknown", lambda: {"val_acc": flat(60, 0.93, 0.004)}),
        Case("a detector that is fine-tuned", "unknown", lambda: {"mAP50": flat(60, 0.22, 0.004)}),
        Case("a word error rate at rest", "unknown", lambda: {"wer": flat(60, 31.0, 0.004)}),
        Case("a quarter of a hundred classes right at once", "unknown", lambda: {"val_acc": flat(60, 0.25, 0.004)},
             {"num_classes": 100}),
        Case("a score that stays bad", "present", lambda: {"val_acc": flat(60, 0.1, 0.001)}),
        Case("a score of zero throughout", "present", lambda: {"mAP": [0.0] * 30}),
        Case("a score at its top", "absent", lambda: {"val_acc": [1.0] * 30}),
        Case("three values", "unknown", lambda: {"train_loss": [2.3, 2.3, 2.3]}),
    ),
)  # fmt: skip
