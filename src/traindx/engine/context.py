"""What the timing of events and the shape of a training say about causes, beyond the symptoms: a loss that was calm
right up to its NaN was not thrown out by the step size. What settings say are symptoms of kind setting."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from traindx.causes import causes
from traindx.causes.base import Cause
from traindx.diagnosis import Observation
from traindx.engine.priors import LANGUAGE, kind_of
from traindx.meaning import tokens_of
from traindx.run import Floats
from traindx.signals import Signals, lookup
from traindx.signals.choose import usable
from traindx.signals.curve import Curve
from traindx.signals.outcome import outcome
from traindx.signals.rates import family_of, peak_lr
from traindx.signals.started import fine_tuning
from traindx.symptoms import symptoms
from traindx.symptoms.flat_from_start import NOTHING
from traindx.symptoms.prediction_collapse import nothing_matched
from traindx.symptoms.val_at_chance import came_late

TINY_BATCH = 2
_RIGHT_OR_WRONG = frozenset({"acc", "accuracy", "acc1", "acc5", "top1", "top5", "f1"})
NOISY = frozenset(
    {"oscillation", "loss-spike", "divergence", "val-noisy", "flat-from-start", "loss-at-chance"}
)  # what noise does
EARLY = 0.1  # of the run: what breaks there had no time to grow through training
NORM_GREW = 10.0  # times the usual gradient norm: a third of exploding-gradients, as NaN cuts the rise off
FEW_BEFORE = 6  # values before a NaN: too few for a level
FIRST_LOOK = 3.0  # step of the first look at units: hardly anything has been learnt by then
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


SEVERAL_RANKS = 2.2  # log odds: of 299 public threads about failing trainings 33 are of several ranks (log 299/33)
# log odds against a cause that hinders learning, where it is plain that much was learnt: of 0, 1.8, 2.6, 3.5 and 5.3
# the one under which the truth of 363 recordings was likeliest (docs/benchmarks.md)
LEARNT_WELL = 3.5
# groups of causes that hinder learning,
HINDERS = frozenset((
    "optimisation", "which weights move", "wiring", "loss and output", "data", "initialisation", "gradient flow",
    "learning rate", "capacity", "numerics",
))  # fmt: skip
# but for those under which a loss looks better than it is, or that cost something else than learning
FLATTERS = frozenset((
    "causal-mask-missing", "target-not-shifted", "padding-not-masked", "train-val-leak", "same-batch-forever",
    "class-imbalance", "overfitting", "loss-sign-flipped", "nll-without-log-softmax", "catastrophic-forgetting",
    "batch-mixed", "train-mode-during-eval", "eval-mode-during-training", "adapter-not-attached",
    "new-token-embeddings-untrained", "too-few-epochs", "lr-decay-missing",
))  # fmt: skip
# what makes a training slow or unstable is refuted by one that went well, even where it was seen itself: a wiring that
# is wrong may only keep a model from being better
TRAINABILITY = frozenset(("initialisation", "gradient flow", "learning rate"))
TRAINED_BADLY = frozenset((
    "inputs-not-normalized", "targets-not-normalized", "loss-sum-reduction", "batch-too-large", "batch-too-small",
    "grad-clip-too-tight", "grad-clip-missing", "momentum-too-high", "weight-decay-too-high", "dropout-too-high",
))  # fmt: skip
# these show on held-out data alone
ONLY_HELD_OUT = frozenset(("val-preprocessing-mismatch", "train-val-label-mismatch"))

TINY = 2e-7  # no usual optimiser learns at such a rate
RISES_AGAIN = 2.0  # times the lowest rate before it
# names that only policies log which write answers, and such as only those log which act in an environment
_WRITTEN = frozenset({"completion", "completions", "response", "responses", "prompt", "prompts", "token", "tokens"})
_PLAYED = frozenset({"ep", "episode", "episodes", "episodic", "epsilon", "exploration", "env", "win", "fps"})
OF_ANSWERS: tuple[str, ...] = (
    "completions-truncated", "zero-reward-variance", "sampler-mismatch", "stale-sampler", "length-bias", "kl-runaway",
    "kl-sign-flipped", "reward-answer-misaligned", "reward-model-learnt-length",
)  # fmt: skip
OF_A_WORLD: tuple[str, ...] = ("terminal-not-masked", "target-network-stale", "replay-degenerate", "action-scale-wrong")


@dataclass(frozen=True)
class Hint:
    """Evidence for (positive) or against one cause in log odds, with the sentence that says so."""

    cause: str
    log_odds: float
    sentence: str
    of_outcome: bool = False  # what came of the training, in full against what was seen itself as well


def hints(signals: Signals, observations: Sequence[Observation]) -> list[Hint]:
    """Everything the configuration and the order of events tell."""
    seen = {observation.id: observation for observation in observations if observation.state == "present"}
    return [
        *_distance(signals, seen),
        *_never_high(signals, seen),
        *_from_the_start(seen),
        *_batch_size(signals, seen),
        *_architecture(signals),
        *_classifies(signals),
        *_timing(signals, seen),
        *_validation(signals, seen),
        *_training_lost(signals, seen),
        *_hits(signals),
        *_rising(signals, seen),
        *_sign(signals, seen),
        *_learnt(signals, seen),
        *_capacity(signals, seen),
        *_machine(signals, seen),
        *_given_back(signals),
        *_no_target_matched(signals, seen),
        *_failed(signals, seen),
        *_world_or_words(signals),
    ]


def _no_target_matched(signals: Signals, seen: Mapping[str, Observation]) -> Iterator[Hint]:
    """Losses of boxes that are 0 in every row: there was no target, or none that fits the format."""
    if "prediction-collapse" in seen and nothing_matched(signals) is not None:
        text = "no box was ever matched to a target, as where labels are missing or in another format"
        for cause in ("label-encoding-wrong", "labels-misaligned"):
            yield Hint(cause, 3.0, text)
        yield Hint("lr-too-low", -2.0, text)


def _failed(signals: Signals, seen: Mapping[str, Observation]) -> Iterator[Hint]:
    """More of a training that has failed is no remedy; and a loss that was never anything but 0 counted nothing."""
    if not any(observation.conclusive for observation in seen.values()):
        return
    yield Hint("too-few-epochs", -6.0, "no further row would change what was seen")
    train = signals.train
    if train is not None and len(train) and train.constant and abs(float(train.y[0])) < NOTHING:
        text = f"{train.name} is 0 from the first row on, as where no target is counted"
        words = kind_of(signals) == LANGUAGE
        for cause in ("no-target-tokens",) if words else ("label-encoding-wrong", "labels-misaligned"):
            yield Hint(cause, 2.5, text)
        for cause in ("lr-too-high", "vanishing-gradients", "dead-relu", "loss-shape-broadcast"):
            yield Hint(cause, -2.0, text)


def _from_the_start(seen: Mapping[str, Observation]) -> Iterator[Hint]:
    """Units that were dead or saturated at the first look, while no update is large: no rate has made them so."""
    units = [seen[name] for name in ("dead-units", "saturated-units") if name in seen]
    if "huge-updates" in seen or not any(o.steps is not None and o.steps[0] <= FIRST_LOOK for o in units):
        return
    text = "it was so at the first look, before updates could make it so"
    for cause in ("lr-too-high", "warmup-missing", "momentum-too-high", "grad-clip-missing"):
        yield Hint(cause, -3.0, text)


def _learnt(signals: Signals, seen: Mapping[str, Observation]) -> Iterator[Hint]:
    """Harm shows in what came of the training: where a loss left the guess far behind, ends at its best and held-out
    data went along, nothing hindered learning much. What flatters a loss, or costs something else, is excepted where
    something speaks for it."""
    found = outcome(signals) if signals.run.seen_inside else None  # what a log shows of it is fitted on logs
    if found is None or found.learnt <= 0:
        return
    for cause in causes().values():
        hinders = cause.group in HINDERS and cause.id not in FLATTERS
        hinders = hinders and (found.held_out is True or cause.id not in ONLY_HELD_OUT)
        if cause.id != "healthy" and (hinders or not _shown(cause, seen)):
            trains_badly = cause.group in TRAINABILITY or cause.id in TRAINED_BADLY
            yield Hint(cause.id, -LEARNT_WELL * found.learnt, found.text, of_outcome=trains_badly)
    yield Hint("other", -LEARNT_WELL * found.learnt, found.text, of_outcome=True)


def _shown(cause: Cause, seen: Mapping[str, Observation]) -> bool:
    """Whether a problem that it always or usually brings is there."""
    table = symptoms()
    brings = (name for name, word in cause.predicts.items() if word in ("always", "usually"))
    return any(name in seen and table[name].severity == "problem" for name in brings)


def _distance(signals: Signals, seen: Mapping[str, Observation]) -> Iterator[Hint]:
    """Adam moves every weight by about the learning rate, so weights that stay where they are were given too small a
    one; the size of the gradient cannot be the reason."""
    lr = peak_lr(signals)
    if "tiny-updates" not in seen or family_of(signals) != "adam" or lr is None or not lr > 0:
        return
    text = f"Adam moves each weight by about the learning rate, {lr:.3g}, however small the gradient"
    yield Hint("lr-too-low", 2.0, text)
    for cause in ("vanishing-gradients", "grad-clip-too-tight", "saturation"):
        yield Hint(cause, -2.0, text)


def _never_high(signals: Signals, seen: Mapping[str, Observation]) -> Iterator[Hint]:
    """A rate that rises again and again and is never more than nothing did not decay from anywhere."""
    if "lr-schedule-anomaly" not in seen or signals.lr is None:
        return
    rates = signals.lr.values[np.isfinite(signals.lr.values)]
    if len(rates) and 0 < rates.max() < TINY and np.any(rates[1:] > np.minimum.accumulate(rates)[:-1] * RISES_AGAIN):
        text = f"no rate in the log is above {rates.max():.3g}, although it rises"
        yield Hint("lr-too-low", 2.0, text)
        yield Hint("lr-decayed-too-early", -2.0, text)


def _given_back(signals: Signals) -> Iterator[Hint]:
    """What is asked for has the shape of what goes in, and is numbers: nothing was encoded."""
    config = signals.run.config
    shape, kind = config.get("input_shape"), str(config.get("target_dtype", ""))
    if shape is not None and shape == config.get("target_shape") and kind.startswith(("float", "bfloat")):
        for cause in ("label-encoding-wrong", "class-imbalance"):
            yield Hint(cause, -3.0, f"the targets are numbers and have the shape of the inputs, {shape}")


def _world_or_words(signals: Signals) -> Iterator[Hint]:
    """A policy that acts in an environment writes no answers, and one that writes answers has no simulator."""
    if signals.kind != "rl":
        return
    words = {word for name in signals.run.series for word in tokens_of(name)}
    if words & _WRITTEN:
        other, text = OF_A_WORLD, "answers of a language model are logged, no environment"
    elif words & _PLAYED:
        other, text = OF_ANSWERS, "episodes of an environment are logged, no written answers"
    else:
        return
    for cause in other:
        yield Hint(cause, -4.0, text)


def _batch_size(signals: Signals, seen: Mapping[str, Observation]) -> Iterator[Hint]:
    batch = lookup.number(signals.run.config, "batch_size")
    if batch is None or batch < 1:
        return
    if batch <= TINY_BATCH and NOISY & seen.keys():
        yield Hint("batch-too-small", 2.0, f"batches hold {batch:.0f} sample{'s' if batch > 1 else ''}")
    elif batch >= 64:
        yield Hint("batch-too-small", -1.5, f"batches hold {batch:.0f} samples")


def _architecture(signals: Signals) -> Iterator[Hint]:
    """Gradients explode or vanish by being multiplied through many layers or time steps."""
    layers, recurrent = signals.run.config.get("model_layers"), signals.run.config.get("model_recurrent")
    if isinstance(layers, int) and 0 < layers <= SHALLOW and recurrent is False:
        text = f"the network has {layers} layer{'s' if layers > 1 else ''} with weights and no recurrence"
        for cause in ("exploding-gradients", "vanishing-gradients"):
            yield Hint(cause, -2.0, f"{text}: nothing multiplies gradients there")


def _classifies(signals: Signals) -> Iterator[Hint]:
    """Where answers are counted as right or wrong, or tokens are predicted, the targets are classes: what goes wrong
    with real-valued targets does not apply."""
    if signals.kind != "supervised":
        return
    counted = next((s.name for s in usable(signals.run, "score") if _RIGHT_OR_WRONG & set(tokens_of(s.name))), None)
    tokens = next((s.name for s in usable(signals.run, "perplexity")), None)
    name, given = counted or tokens, signals.settings.classes or 0
    if name is None and given <= 2:  # one score with yes or no may be a number as well
        return
    text = f"{name} is logged: the targets are classes" if name is not None else f"you gave {given} classes"
    if given > 2:
        yield Hint("softmax-on-single-output", -3.0, f"{given} classes need as many outputs")
    for cause in ("loss-shape-broadcast", "targets-not-normalized", "relu-on-output", "bounded-output"):
        yield Hint(cause, -3.0, f"{text}, not numbers of their own scale")


def _capacity(signals: Signals, seen: Mapping[str, Observation]) -> Iterator[Hint]:
    """A model of a few hundred parameters that fits nothing is probably too small, as is one that hands many classes
    through a few values; one of millions is not."""
    count = lookup.number(signals.run.config, "parameters")
    if not count or not seen.keys() & {"underfitting", "plateau", "slow-convergence"}:
        return
    narrowest, classes = signals.run.config.get("model_narrowest"), lookup.number(signals.run.config, "classes")
    if narrowest == 1 and count < SMALL_MODEL:
        yield Hint("model-too-small", 4.0, "a hidden layer hands on a single value")
    elif isinstance(narrowest, int) and classes and 0 < narrowest <= classes / 2 and count < SMALL_MODEL:
        text = f"a hidden layer passes on {narrowest} values, which must separate {classes:.0f} classes"
        yield Hint("model-too-small", 3.0, text)
    elif count < 1000:
        yield Hint("model-too-small", 1.8, f"the model has only {count:.0f} parameters")
    elif count > 1e6:
        yield Hint("model-too-small", -1.0, f"the model has {count:.3g} parameters")


def _machine(signals: Signals, seen: Mapping[str, Observation]) -> Iterator[Hint]:
    """What cannot be: ranks that differ where there is one, a device to wait for where there is none, tokens among
    pixels."""
    world = signals.run.config.get("recording.world")
    if world == 1:
        for cause in ("replicas-diverge", "straggler-rank"):
            yield Hint(cause, -4.0, "the training runs in a single process")
    elif isinstance(world, int) and world > 1:
        yield Hint("replicas-diverge", SEVERAL_RANKS, f"the training runs in {world} processes")
    kind = signals.run.config.get("input_kind")
    if kind == "tokens" and "inputs-unscaled" not in seen:
        yield Hint("inputs-not-normalized", -5.0, "the inputs are tokens: there is nothing to normalise")
    if isinstance(kind, str) and kind != "tokens":
        for cause in ("causal-mask-missing", "target-not-shifted", "padding-not-masked", "weights-not-tied"):
            if cause != "target-not-shifted" or "targets-not-next-token" not in seen:
                yield Hint(cause, -3.0, f"the inputs are {kind}, not tokens")
    if signals.run.config.get("device") == "cpu":
        for cause in ("host-sync", "small-batch-underuse"):
            yield Hint(cause, -4.0, "the training runs on the CPU")


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
        yield from _timing_of_nan(signals, event, main, share)
    elif share <= 0.08:
        yield Hint("warmup-missing", 0.8, f"it came in the first {max(share, 0.01) * 100:.0f} % of the run")
    elif share > 0.3:
        yield Hint(
            "warmup-missing", -1.5, f"it came after {share * 100:.0f} % of the run; a warm-up concerns the beginning"
        )
        yield Hint("init-too-large", -1.5, "it came long after the start")


def _begins(steps: Floats) -> bool:
    """Whether these are steps from the start of a training: an excerpt begins anywhere."""
    apart = float(np.median(np.diff(steps))) if len(steps) > 1 else 0.0
    return float(steps[0]) <= max(FIRST_LOOK, 2 * apart)


def _timing_of_nan(signals: Signals, event: Observation, main: Curve, share: float) -> Iterator[Hint]:
    """What came before it: growth, or nothing. `share`: how far into the run."""
    first = event.steps[0] if event.steps is not None else 0.0
    if _only_evaluated(signals, event):
        yield from _no_targets(event)
        return
    norms = _norms_before(signals, first)
    if norms >= NORM_GREW:
        yield from _grew_first(norms)
        return
    rising = _rise_before(main, first)
    grew = rising is not None and rising > 1.3
    if share <= 0.02 and not grew and _begins(main.series.steps):
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


def _norms_before(signals: Signals, step: float) -> float:
    """By how much the gradient norm stood above its usual level in the last updates before this step; 0 where too few
    were logged."""
    norms = signals.grad_norm
    if norms is None:
        return 0.0
    before = norms.values[(norms.steps < step) & np.isfinite(norms.values)]
    usual = float(np.median(before)) if len(before) >= 2 * FEW_BEFORE else 0.0
    return float(np.median(before[-3:])) / usual if usual > 0 else 0.0


def _grew_first(times: float) -> Iterator[Hint]:
    """A norm that had left its level before the loss did: the steps grew, no single operation or sample broke."""
    text = f"the gradient norm had risen {times:.3g}-fold before the NaN"
    yield Hint("exploding-gradients", 1.5, text)
    yield Hint("lr-too-high", 1.0, text)
    yield Hint("grad-clip-missing", 1.0, text)
    for cause in ("nan-in-data", "log-of-zero", "division-by-zero"):
        yield Hint(cause, -1.5, text)
    yield Hint("fp16-overflow", -0.5, text)


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
    never = never and not (came_late(train, val) and fine_tuning(signals))  # nobody knows what it was before
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


def _training_lost(signals: Signals, seen: Mapping[str, Observation]) -> Iterator[Hint]:
    """What was memorised is not lost again: a training loss that left its best for good is no overfitting."""
    train = signals.train
    for name in ("divergence", "ends-off-best"):
        if name in seen and train is not None and seen[name].where == train.name and train.sign > 0:
            yield Hint("overfitting", -3.0, f"{train.name} itself got worse; memorising makes it fall")
            return


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
