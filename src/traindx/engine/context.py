"""What the settings and the timing of events say about causes, beyond the symptoms: an Adam rate of 0.1 is suspicious
by itself, and a run in fp32 cannot overflow in fp16."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from traindx.diagnosis import Observation
from traindx.run import Floats
from traindx.signals import Signals, lookup
from traindx.signals.curve import Curve
from traindx.symptoms import symptoms

# Rates at which an optimiser usually trains: below and above, the rate itself is a suspect. Defaults of the libraries
# and of published recipes lie inside.
USUAL_LR: Mapping[str, tuple[float, float]] = {"adam": (1e-6, 3e-3), "sgd": (1e-4, 0.5), "": (1e-7, 0.5)}


_HALF_TOLD = re.compile(r"fp16|float16|half.precision|loss.?scale|grad.?scaler|\bamp\b", re.IGNORECASE)
PRECISION_SEEN = frozenset({"loss-scale-collapse", "nan-from-half-overflow"})
CONSTANT_FOR = 10  # values of the learning rate that are the same: no schedule has touched it
TINY_BATCH = 2
NOISY = frozenset(
    {"oscillation", "loss-spike", "divergence", "val-noisy", "flat-from-start", "loss-at-chance"}
)  # what noise does
EARLY = 0.1  # of the run: what breaks there had no time to grow through training
FEW_BEFORE = 6  # values before a NaN: too few for a level
NEVER_BETTER = 1.05  # of the first training loss: validation that begins above it and only gets worse is another task
MIRRORED_FOR = 5  # evaluations
ENORMOUS = 20.0  # times the loss of an untrained model: wrong labels alone do not cost so much
LEARNT = 0.4  # reduction of the training loss
SAME_FOR = 6  # evaluations
ROSE_IN = 12  # values of a score: fewer show no course
ROSE = 5.0  # times its noise, and times what it lost again
LEAST_ROSE = 0.15  # of its best
UNTRAINED = (-8.0, -0.4)  # the loss of an untrained model with its sign turned: two to a few thousand classes
SMALL_MODEL = 20_000  # parameters: in larger ones narrow layers are gates and adapters, made so on purpose
SHALLOW = 4  # layers with weights one behind the other at most: their product neither explodes nor vanishes


@dataclass(frozen=True)
class Hint:
    """Evidence for (positive) or against one cause in log odds, with the sentence that says so."""

    cause: str
    log_odds: float
    sentence: str


def hints(signals: Signals, observations: Sequence[Observation]) -> list[Hint]:
    """Everything the configuration and the order of events tell."""
    seen = {observation.id: observation for observation in observations if observation.state == "present"}
    return [
        *_rate(signals),
        *_distance(signals, seen),
        *_settings(signals, seen),
        *_architecture(signals),
        *_precision(signals, seen),
        *_timing(signals, seen),
        *_validation(signals, seen),
        *_hits(signals),
        *_rising(signals, seen),
        *_sign(signals, seen),
        *_capacity(signals, seen),
        *_machine(signals, seen),
        *_given_back(signals),
    ]


def peak_lr(signals: Signals) -> float | None:
    """The learning rate the run used at most: from the log, else from the settings."""
    told = lookup.number(signals.run.config, "lr")
    if signals.lr is not None and np.isfinite(signals.lr.values).any():
        logged = float(np.nanmax(signals.lr.values))
        return (
            logged if told is None else max(logged, told)
        )  # a log that begins after a steep decay has not seen its peak
    return told


def _rate(signals: Signals) -> Iterator[Hint]:
    lr = peak_lr(signals)
    if lr is None or lr <= 0:
        return
    family = _family(signals)
    low, high = USUAL_LR[family]
    called = {"adam": "Adam-like optimisers", "sgd": "SGD", "": "any usual optimiser"}[family]
    if lr > high:
        odds = min(2.0, 0.7 + 0.6 * float(np.log10(lr / high)))
        yield Hint("lr-too-high", odds, f"learning rate {lr:.3g} is above what {called} usually bear ({high:g})")
        yield Hint("lr-too-low", -2.0, f"learning rate {lr:.3g} is not low")
    elif lr < low:
        odds = min(5.0, 1.0 + 0.6 * float(np.log10(low / lr)))
        yield Hint("lr-too-low", odds, f"learning rate {lr:.3g} is below what {called} usually need ({low:g})")
        yield Hint("lr-too-high", -2.0, f"learning rate {lr:.3g} is not high")
    elif family:
        yield Hint("lr-too-high", -0.3, f"learning rate {lr:.3g} is in the usual range of {called}")
        yield Hint("lr-too-low", -0.5, f"learning rate {lr:.3g} is in the usual range of {called}")
    if signals.lr is not None and len(signals.lr) >= CONSTANT_FOR and float(np.nanmin(signals.lr.values)) >= 0.999 * lr:
        yield Hint("lr-decayed-too-early", -5.0, f"the learning rate is {lr:.3g} from the first value to the last")


def _family(signals: Signals) -> str:
    name = str(lookup.setting(signals.run.config, "optimizer") or "").lower()
    if not name and signals.lr is not None:
        name = signals.lr.name.lower()  # Lightning's LearningRateMonitor writes 'lr-Adam'
    return "adam" if "adam" in name or "lion" in name else "sgd" if "sgd" in name else ""


def _decoupled(signals: Signals) -> bool:
    """AdamW and its kin shrink weights apart from the gradient, so that a decay of 0.1 is ordinary there; added to the
    gradient it is about six times as strong."""
    return "adamw" in str(lookup.setting(signals.run.config, "optimizer") or "adamw").lower()


def _distance(signals: Signals, seen: Mapping[str, Observation]) -> Iterator[Hint]:
    """Adam moves every weight by about the learning rate, so weights that stay where they are were given too small a
    one; the size of the gradient cannot be the reason."""
    lr = peak_lr(signals)
    if "tiny-updates" not in seen or _family(signals) != "adam" or lr is None or not lr > 0:
        return
    text = f"Adam moves each weight by about the learning rate, {lr:.3g}, however small the gradient"
    yield Hint("lr-too-low", 2.0, text)
    for cause in ("vanishing-gradients", "grad-clip-too-tight", "saturation"):
        yield Hint(cause, -2.0, text)


def _given_back(signals: Signals) -> Iterator[Hint]:
    """What is asked for has the shape of what goes in, and is numbers: nothing was encoded."""
    config = signals.run.config
    shape, kind = config.get("input_shape"), str(config.get("target_dtype", ""))
    if shape is not None and shape == config.get("target_shape") and kind.startswith(("float", "bfloat")):
        for cause in ("label-encoding-wrong", "class-imbalance"):
            yield Hint(cause, -3.0, f"the targets are numbers and have the shape of the inputs, {shape}")


def _settings(signals: Signals, seen: Mapping[str, Observation]) -> Iterator[Hint]:
    yield from _strengths(signals)
    yield from _batch_size(signals, seen)
    yield from _clipping(signals)
    yield from _warmup(signals)
    accumulation = lookup.number(signals.run.config, "accumulation")
    if accumulation is not None and accumulation <= 1:
        yield Hint("accumulation-not-scaled", -2.0, "gradients are not accumulated")


def _strengths(signals: Signals) -> Iterator[Hint]:
    """Weight decay, dropout and momentum, which are harmless below a value and suspicious above another."""
    for name, cause, low, high in (
        ("weight_decay", "weight-decay-too-high", 0.02, 0.3 if _decoupled(signals) else 0.05),
        ("dropout", "dropout-too-high", 0.3, 0.6),
        ("momentum", "momentum-too-high", 0.95, 0.985),
    ):
        value = lookup.number(signals.run.config, name)
        if value is None:
            continue
        label = name.replace("_", " ")
        if value <= low:
            yield Hint(cause, -2.0, f"{label} is {value:g}")
        elif value >= high:
            yield Hint(
                cause,
                _excess(name, value if name != "weight_decay" or _decoupled(signals) else 6 * value),
                f"{label} is {value:g}",
            )


def _batch_size(signals: Signals, seen: Mapping[str, Observation]) -> Iterator[Hint]:
    batch = lookup.number(signals.run.config, "batch_size")
    if batch is None or batch < 1:
        return
    if batch <= TINY_BATCH and NOISY & seen.keys():
        yield Hint("batch-too-small", 2.0, f"batches hold {batch:.0f} sample{'s' if batch > 1 else ''}")
    elif batch >= 64:
        yield Hint("batch-too-small", -1.5, f"batches hold {batch:.0f} samples")


def _clipping(signals: Signals) -> Iterator[Hint]:
    clip = lookup.number(signals.run.config, "clip")
    if clip is not None and clip > 0:
        yield Hint("grad-clip-missing", -2.5, f"gradients are clipped at {clip:g}")
        if clip < 0.05:
            yield Hint("grad-clip-too-tight", 1.0, f"gradients are clipped at {clip:g}")


def _warmup(signals: Signals) -> Iterator[Hint]:
    warmup = lookup.number(signals.run.config, "warmup")
    if warmup is not None and warmup > 0:
        yield Hint("warmup-missing", -2.0, f"a warm-up of {warmup:g} is configured")
    elif signals.lr is not None and len(signals.lr) >= 10:
        values = signals.lr.values[np.isfinite(signals.lr.values)]
        if len(values) and values[0] < 0.5 * values.max() and int(np.argmax(values)) < 0.3 * len(values):
            yield Hint("warmup-missing", -2.0, "the learning rate warms up in the log")


def _architecture(signals: Signals) -> Iterator[Hint]:
    """Gradients explode or vanish by being multiplied through many layers or time steps."""
    layers, recurrent = signals.run.config.get("model_layers"), signals.run.config.get("model_recurrent")
    if isinstance(layers, int) and 0 < layers <= SHALLOW and recurrent is False:
        text = f"the network has {layers} layer{'s' if layers > 1 else ''} with weights and no recurrence"
        for cause in ("exploding-gradients", "vanishing-gradients"):
            yield Hint(cause, -2.0, f"{text}: nothing multiplies gradients there")


def _excess(name: str, value: float) -> float:
    """How suspicious a setting above its usual range is: what hardly anybody means weighs like a symptom."""
    if name == "momentum":
        return 3.0 if value >= 0.995 else 1.5
    if name == "weight_decay":
        return 5.0 if value >= 5 else 2.5 if value >= 1 else 1.0
    return 2.5 if value >= 0.8 else 1.0


def _capacity(signals: Signals, seen: Mapping[str, Observation]) -> Iterator[Hint]:
    """A model of a few hundred parameters that fits nothing is probably too small, as is one that hands many classes
    through a few values; one of millions is not."""
    count = lookup.number(signals.run.config, "parameters")
    if count is None or not seen.keys() & {"underfitting", "plateau", "slow-convergence"}:
        return
    narrowest, classes = signals.run.config.get("model_narrowest"), lookup.number(signals.run.config, "classes")
    if narrowest == 1 and count < SMALL_MODEL:
        yield Hint("model-too-small", 4.0, "a hidden layer hands on a single value")
    elif isinstance(narrowest, int) and classes and 0 < narrowest <= classes / 2 and count < SMALL_MODEL:
        text = f"a hidden layer hands on {narrowest} values, from which {classes:.0f} classes are told"
        yield Hint("model-too-small", 3.0, text)
    elif count < 1000:
        yield Hint("model-too-small", 1.8, f"the model has only {count:.0f} parameters")
    elif count > 1e6:
        yield Hint("model-too-small", -1.0, f"the model has {count:.3g} parameters")


def _machine(signals: Signals, seen: Mapping[str, Observation]) -> Iterator[Hint]:
    """What cannot be: ranks that differ where there is one, a device to wait for where there is none, tokens among
    pixels."""
    if signals.run.config.get("recording.world") == 1:
        for cause in ("replicas-diverge", "straggler-rank"):
            yield Hint(cause, -4.0, "the training runs in a single process")
    kind = signals.run.config.get("input_kind")
    if isinstance(kind, str) and kind != "tokens":
        for cause in ("causal-mask-missing", "target-not-shifted", "padding-not-masked", "weights-not-tied"):
            if cause != "target-not-shifted" or "targets-not-next-token" not in seen:
                yield Hint(cause, -3.0, f"the inputs are {kind}, not tokens")
    if signals.run.config.get("device") == "cpu":
        for cause in ("host-sync", "small-batch-underuse"):
            yield Hint(cause, -4.0, "the training runs on the CPU")


def _precision(signals: Signals, seen: Mapping[str, Observation]) -> Iterator[Hint]:
    half = lookup.half_precision(signals.run.config)
    scaled = any(len(series) and np.nanmax(series.values) > 1 for series in signals.run.of("loss_scale"))
    told = any(_HALF_TOLD.search(event.text) for event in signals.run.events)
    if half or scaled or told:
        yield Hint("fp16-overflow", 0.8, "the run trains in half precision")
    elif half is False:
        yield Hint("fp16-overflow", -2.5, "the run does not train in fp16")
        yield Hint("low-precision-update-lost", -1.0, "the run does not train in fp16")
    elif signals.run.config.get("input_dtype") in ("float32", "float64") and "nan-from-half-overflow" not in seen:
        yield Hint("fp16-overflow", -2.0, "the inputs are in single precision and no loss scaling was seen")
    elif half is None and not signals.run.seen_inside and not seen.keys() & PRECISION_SEEN:
        yield Hint("fp16-overflow", -2.0, "nothing in the log speaks of half precision")


def _timing(signals: Signals, seen: Mapping[str, Observation]) -> Iterator[Hint]:
    """When a NaN, spike or divergence came, and what the gradient norm did just before it."""
    event = seen.get("nonfinite-loss") or seen.get("divergence") or seen.get("loss-spike")
    main = signals.main
    if event is None or event.steps is None or main is None or not len(main.series):
        return
    first = event.steps[0]
    span = float(main.series.steps[-1] - main.series.steps[0])
    share = (first - float(main.series.steps[0])) / span if span > 0 else 0.0
    if event.id == "nonfinite-loss":
        if _only_evaluated(signals, event):
            yield from _no_targets(event)
            return
        rising = _rise_before(main, first)
        grew = rising is not None and rising > 1.3
        if share <= 0.02 and not grew:
            yield Hint("nan-in-data", 0.5, "NaN in the very first steps, before learning could cause it")
            yield Hint("exploding-gradients", -0.7, "NaN came before anything could grow")
        if rising is not None and (grew or share > 0.02):
            if grew:
                text = f"the loss had risen {rising:.1f}-fold before it became NaN"
                yield Hint("lr-too-high", 0.8, text)
                yield Hint(
                    "init-too-large" if share <= EARLY else "exploding-gradients", 0.8 if share <= EARLY else 0.5, text
                )
                yield Hint("nan-in-data", -0.8, "the loss grew first; a bad sample would strike at once")
            else:
                for cause in ("nan-in-data", "log-of-zero", "division-by-zero", "fp16-overflow"):
                    yield Hint(cause, 0.4, "the loss was calm right up to the NaN")
                yield Hint("lr-too-high", -0.6, "the loss was calm right up to the NaN")
    elif share <= 0.08:
        yield Hint("warmup-missing", 0.8, f"it came in the first {max(share, 0.01) * 100:.0f} % of the run")
    elif share > 0.3:
        yield Hint(
            "warmup-missing", -1.5, f"it came after {share * 100:.0f} % of the run; a warm-up concerns the beginning"
        )
        yield Hint("init-too-large", -1.5, "it came long after the start")


def _only_evaluated(signals: Signals, event: Observation) -> bool:
    """Whether evaluations are NaN while the training goes on with finite losses."""
    series = signals.run.series.get(event.where or "")
    train = signals.train
    if series is None or series.meaning.split not in ("val", "test") or train is None or event.steps is None:
        return False
    after = (
        train.series.values[train.series.steps > event.steps[0]]
        if train.series.axis == series.axis
        else train.series.values
    )
    return bool(len(after)) and bool(np.isfinite(after).all())


def _no_targets(event: Observation) -> Iterator[Hint]:
    """Precision, rate and gradients are those of the training, which is finite; what evaluation has of its own is its
    data."""
    text = (
        "only evaluations are NaN while the training loss stays finite: a mean over no targets (all of them masked "
        "or cut off)"
    )
    yield Hint("division-by-zero", 3.0, text)
    for cause in ("fp16-overflow", "lr-too-high", "exploding-gradients", "grad-clip-missing", "init-too-large",
                  "warmup-missing",
                  "inputs-not-normalized", "targets-not-normalized", "corrupt-samples", "missing-zero-grad",
                  "momentum-too-high"):  # fmt: skip
        yield Hint(cause, -2.5, "the training loss is finite")
    yield Hint("nan-in-data", -0.5, "the training loss is finite")


def _rise_before(main: Curve, step: float) -> float | None:
    before = main.y[main.x < step]
    if len(before) < 2 or before.min() <= 0:
        return None
    if len(before) < FEW_BEFORE:
        return float(before[-1] / before[:-1].min())
    few = max(2, len(before) // 20)
    return float(np.median(before[-few:]) / np.median(before[-4 * few : -few]))


def _validation(signals: Signals, seen: Mapping[str, Observation]) -> Iterator[Hint]:
    """A gap that is there from the first evaluation is a different task, not memorisation."""
    gap = seen.get("overfitting-gap")
    val, train = signals.val, signals.train_epochs
    if gap is None or gap.steps is None or val is None or train is None or len(val) < 4:
        return
    onset = val.clock_share(gap.steps[0])
    first = float(val.y[0] / max(abs(train.initial), 1e-300))
    never = int(np.argmin(val.y)) == 0 and first > NEVER_BETTER
    if never or (onset < 0.03 and first > 1.5):
        text = "validation is worse than training from the first evaluation on"
        if never:
            text = "validation was never better than an untrained model"
        for cause in ("val-preprocessing-mismatch", "train-val-label-mismatch"):
            yield Hint(cause, 1.2, text)
        yield Hint("overfitting", -1.2, text)
        yield from _mirrored(signals, val, train)
    elif onset > 0.1:
        text = f"validation improved until {onset * 100:.0f} % of the run, so it is the same task"
        for cause in ("val-preprocessing-mismatch", "train-val-label-mismatch", "train-mode-during-eval"):
            yield Hint(cause, -1.2, text)


def _mirrored(signals: Signals, val: Curve, train: Curve) -> Iterator[Hint]:
    """What is learnt of the wrong labels is wrong the more surely the better it is learnt, so that validation rises as
    training falls; inputs of another scale give answers of another size, in no order."""
    there = signals.train_at(val.x)
    if there is None or len(val) < MIRRORED_FOR:
        return
    worst = float(val.y.max()) / max(abs(train.initial), 1e-300)
    if worst > ENORMOUS:
        text = f"the validation loss is up to {worst:.0f} times that of an untrained model"
        yield Hint("val-preprocessing-mismatch", 1.5, text)
        yield Hint("train-val-label-mismatch", -1.5, text)
    elif _in_order(there, val.y) < -0.8:
        yield Hint(
            "train-val-label-mismatch",
            1.5,
            "the validation loss rises as the training loss falls, from the first evaluation on",
        )


def _in_order(one: Floats, other: Floats) -> float:
    """Spearman's correlation."""
    ranks = [np.argsort(np.argsort(values)) for values in (one, other)]
    return float(np.corrcoef(ranks[0], ranks[1])[0, 1]) if np.ptp(one) and np.ptp(other) else 0.0


def _hits(signals: Signals) -> Iterator[Hint]:
    """What an accuracy on validation data tells of a training that learns: far below guessing it has other labels; the
    same number again and again is the share of one class."""
    score, train = signals.score, signals.train
    if score is None or train is None or min(len(score), len(train)) < 4 or train.reduction < LEARNT:
        return
    if score.series.meaning.split not in ("val", "test") or "acc" not in score.name.lower():
        return
    values = np.array([score.logged(value) for value in score.y])
    top = 100.0 if values.max() > 1.5 else 1.0
    last, chance = float(np.median(values[-max(1, len(values) // 3) :])) / top, _guessing(signals, train)
    if chance is not None and last < chance / 2:
        text = f"{score.name} is {last:.2g}, far below guessing ({chance:.2g}), while training learns"
        yield Hint("train-val-label-mismatch", 3.0, text)
        yield Hint("val-preprocessing-mismatch", -1.0, text)
    elif chance is not None and last > chance + (1 - chance) / 3:
        yield Hint("train-val-label-mismatch", -3.0, f"{score.name} is {last:.2g}, well above guessing ({chance:.2g})")
    kinds, counts = np.unique(values, return_counts=True)
    same, usual = int(counts.max()), kinds[int(counts.argmax())]
    early = float(np.mean(values[: max(2, len(values) // 3)] == usual))  # not a score that came to rest later
    if len(values) >= SAME_FOR and same > len(values) / 2 and early >= 0.5 and 0 < last < 1:
        text = (
            f"{score.name} is the same in {same} of {len(values)} evaluations, as where one class is always the answer"
        )
        yield Hint("class-imbalance", 2.0, text)
        yield Hint("overfitting", -1.0, text)


def _rising(signals: Signals, seen: Mapping[str, Observation]) -> Iterator[Hint]:
    """Where a score or a return is all there is to go by, few symptoms can be ruled out; that it rose far beyond its
    noise and ends near its best is what a training that works shows."""
    main = signals.main
    problems = any(symptoms()[name].severity == "problem" for name in seen if name in symptoms())
    if main is None or main.sign > 0 or len(main) < ROSE_IN or problems:
        return
    gain = main.progress
    if gain > ROSE * max(main.level_noise, main.rise) and gain > LEAST_ROSE * abs(main.best):
        first, last = main.logged(main.initial), main.logged(main.now)
        yield Hint("healthy", 1.0, f"{main.name} rose from {first:.3g} to {last:.3g} and ends near its best")


def _guessing(signals: Signals, train: Curve) -> float | None:
    """The accuracy of a guess: from the number of classes, else from the loss of the untrained model, which is its
    logarithm."""
    if signals.classes is not None:
        return 1 / signals.classes[0]
    return float(np.exp(-train.initial)) if 0.6 < train.initial < 7 else None


def _sign(signals: Signals, seen: Mapping[str, Observation]) -> Iterator[Hint]:
    """A loss that is negative before anything is learnt, and grows from there, is made large; a likelihood taken of raw
    scores begins near zero."""
    train = signals.train
    if train is None or signals.kind != "supervised":
        return
    finite = train.series.values[np.isfinite(train.series.values)]
    if not len(finite):
        return
    first, lowest = float(finite[0]), float(finite.min())
    if UNTRAINED[0] < first < UNTRAINED[1] and (lowest < 3 * first or "nonfinite-loss" in seen):
        text = f"the loss is {first:.3g} at once, as low as an untrained model's is high, and falls without end"
        yield Hint("loss-sign-flipped", 4.0, text)
        for cause in ("nll-without-log-softmax", "wrong-loss"):
            yield Hint(cause, -2.0, text)
    elif abs(first) < -UNTRAINED[1] / 2 and lowest < -10:
        yield Hint(
            "nll-without-log-softmax", 2.0, f"the loss begins at {first:.2g} and falls without end, as raw scores do"
        )
