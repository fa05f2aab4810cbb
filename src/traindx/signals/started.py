"""Had the model been trained before this run began? Then there is little left to gain, and it is gained slowly."""

from __future__ import annotations

import math
import re

import numpy as np

from traindx.measurements import InitialWeights, LoadedWeights, Measured, TokenCounts
from traindx.signals import Signals
from traindx.signals.chance import variance_of_targets
from traindx.signals.curve import Curve
from traindx.signals.rates import warms_up_at_first
from traindx.thresholds import Threshold, fitted

TRAINED = 0.6  # of chance level: no fresh model starts there,
UNIFORM_KURTOSIS = 1.8  # of weights as torch's layers begin: training leaves none so
SPREAD = 1.3  # variance of the kurtosis of one uniform number, by which it scatters
NEAR = Threshold(3.0, "standard errors", "one uniform matrix in four hundred is further off", side="below")
NEXT = Threshold(
    0.9,
    "of the counted targets are the next token",
    "those of masked language modelling are tokens here and there, of which nothing follows",
)
FRESH = fitted("straight-path.fresh", 0.5, unit="of the weight matrices are uniform")
# libraries whose models come with trained weights, loaded in ways of their own
WITH_WEIGHTS = frozenset({"transformers", "timm", "peft", "open_clip", "sentence_transformers", "torchvision"})
FIRST_LOOKS = 3  # at the training accuracy
KNOWS, SIGMAS = 0.15, 5.0  # beyond chance, and standard errors: no fresh model is there
HELD_OUT = 0.75  # and none is here at its first evaluation unless it has learnt something


RESUMED_SHARE = 0.2  # a first step later than this share of the last one means that the beginning is not in the log,
INTERVALS = 5  # where it is also later than so many rows, and epochs
_TUNING = re.compile(r"lora|peft|finetun|fine.tun|pretrained|adapter|prefix.?tun|freeze.backbone", re.IGNORECASE)
_NOT_TUNED = (False, None, "", 0, "none", "None", "False", "false")
_VERSION = "version."  # of a library that is installed: it says nothing of what is trained
# of trained models
TUNERS = frozenset({"llama-factory", "trl-sft", "ms-swift", "unsloth", "axolotl", "torchtune", "mlx-lm"})
TOKENS = Threshold(
    6.0, "first loss", "guessing among the tokens of any usual vocabulary costs more (ln 403)", side="below"
)


def begins_late(signals: Signals, curve: Curve) -> str:
    """Why the start of the run cannot be judged, where the log begins long after it: resumed, or a piece of a log."""
    if warms_up_at_first(signals) or curve.series.axis == "row" or len(curve) < 2:
        return ""
    first, interval = float(curve.x[0]), float(np.median(np.diff(curve.x)))
    early = curve.series.axis == "epoch" and first <= INTERVALS
    if first > RESUMED_SHARE * curve.x[-1] > 0 and first > INTERVALS * interval and not early:
        return f"The log begins at {curve.at(first)}; the start of the run is not in it."
    return ""


def fine_tuning(signals: Signals) -> str:
    """Why this is the training of a model that was trained before, or ''. Its settings name adapters or trained
    weights, or the Trainer of Hugging Face logs a loss that no fresh language model begins with."""
    for key, value in signals.run.config.items():
        stated = f"{key}={value}" if isinstance(value, str) else key
        if value not in _NOT_TUNED and not key.startswith(_VERSION) and _TUNING.search(stated):
            return f"a trained model is fine-tuned ({key}), which gains most in its first steps"
    train = signals.train
    tuner = signals.run.format.startswith("hf-") or (signals.trainer is not None and signals.trainer.id in TUNERS)
    if tuner and train is not None and len(train) and TOKENS.reached(train.initial):
        return f"a trained model is fine-tuned ({_tuner(signals)}), which gains most in its first steps"
    return ""


def _tuner(signals: Signals) -> str:
    return signals.trainer.title if signals.trainer is not None else "Hugging Face Trainer"


def trained_before(signals: Signals) -> str:
    """A sentence where a recording's first losses, in training and in validation, lie far below what guessing gives."""
    train, val = signals.train, signals.val
    if not signals.run.seen_inside or train is None or train.initial <= 0:
        return ""
    said = next((said for rank in signals.run.measured[:1] if (said := knew_text(rank, train.initial))), "")
    if said:
        return said
    if val is None or val.initial <= 0:
        return ""
    variance = variance_of_targets(signals)
    if variance is not None:
        level, name = variance, "the variance of the targets"
    elif signals.classes is not None:
        level, name = math.log(max(2, signals.classes[0])), f"ln({signals.classes[0]})"
    else:
        return ""
    if train.initial > TRAINED * level or val.initial > HELD_OUT * level:
        return ""
    return (
        f"The first loss is {train.initial:.4g} where guessing gives {level:.4g} ({name}): the model had been trained "
        "before."
    )


def knew_text(measured: Measured, loss: float) -> str:
    """A sentence where the first loss of a language model lies far below what guessing among its tokens gives."""
    found = [one for one in measured.latest(TokenCounts) if not one.evaluation and one.counted]
    counts = max(found, key=lambda one: one.tokens, default=None)
    if counts is None or counts.vocabulary < 2 or not NEXT.reached(counts.next / counts.counted):
        return ""
    level = math.log(counts.vocabulary)
    if not 0 < loss <= TRAINED * level:
        return ""
    return (
        f"The first loss is {loss:.4g} where guessing among {counts.vocabulary} tokens gives {level:.4g}: the model "
        "had been trained before."
    )


def from_scratch(signals: Signals) -> bool:
    """A recording saw weights as they are initialised, or that none were loaded, and first answers no better than a
    guess. Whatever else is not known."""
    fresh = _is_fresh(signals) or _nothing_loaded(signals)
    return fresh and not trained_before(signals) and not _knew(signals) and not fine_tuning(signals)


def _nothing_loaded(signals: Signals) -> bool:
    """The script loaded no weights, and no library that does so in its own way is at work."""
    looks = [look for measured in signals.run.measured[:1] for look in measured.all(LoadedWeights)]
    return bool(looks) and not any(one.loaded or WITH_WEIGHTS.intersection(one.libraries) for one in looks)


def _is_fresh(signals: Signals) -> bool:
    """Most weight matrices began with uniform numbers."""
    found = [look for measured in signals.run.measured[:1] for look in measured.all(InitialWeights)]
    if not found:
        return False
    pairs = list(zip(found[-1].kurtosis, found[-1].elements, strict=True))
    fresh = sum(NEAR.reached(abs(one - UNIFORM_KURTOSIS) / math.sqrt(SPREAD / size)) for one, size in pairs)
    return FRESH.reached(fresh / len(pairs))


def _knew(signals: Signals) -> bool:
    """The first answers were right already."""
    seen = signals.run.series.get("train_accuracy")
    if seen is None or not len(seen) or signals.classes is None:
        return False
    first, batch = seen.values[:FIRST_LOOKS], signals.run.config.get("batch_size")
    chance = 1 / max(2, signals.classes[0])
    answers = len(first) * (batch if isinstance(batch, int) else 1)
    beyond = max(KNOWS, SIGMAS * math.sqrt(chance * (1 - chance) / answers))
    return float(np.mean(first)) > chance + beyond
