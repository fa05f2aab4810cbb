"""What a checkpoint proves, as facts about symptoms. Few and near-certain: what has an innocent explanation is shown in
the tables and not claimed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from traindx.checkpoints.drift import drift
from traindx.checkpoints.layers import ADAPTER, Layer, Measured
from traindx.checkpoints.owners import parameters
from traindx.run import Fact

PROBE = "checkpoint"
NAMED = 3
FEW_STEPS = 20  # below, a training has hardly begun and nothing needs to have moved
LEFT, LEFT_MOST = 0.25, 0.9  # of the weights in matrices at their start: present, plain
LEFT_OUT = 0.05  # the same where the optimiser's state shows that it never moved them
REBUILT = 0.5  # of the trainer's count; trainers that count updates agree with Adam but for skipped steps
REBUILT_UNSURE = 0.01  # where 'step' may count batches of an accumulated gradient
LOST, LOST_PLAIN = 0.6, 0.8  # of the elements that an update should move; as the recorder judges it
DECAYED = 0.1  # of its first value: an update at the end of a schedule may well round to nothing
HALF_OF_MATRICES = 0.5
_COUNTS_UPDATES = ("lightning",)  # formats whose step is the number of updates; trainer_state.json is one too
_ADAPTER_ZERO = re.compile(r"lora_B\b|lora_up\b|lora_embedding_A\b")
_HEADS = ("lm_head.weight", "embed_out.weight", "output_projection.weight", "cls.predictions.decoder.weight")
_EMBEDDINGS = ("embed_tokens.weight", "wte.weight", "word_embeddings.weight", "shared.weight", "embed_in.weight")


def facts(found: Measured) -> list[Fact]:
    """Everything that was looked for: seen, or looked for and not seen. What could not be judged is left out."""
    return [
        *_nonfinite(found), *_at_start(found), *_held(found), *_copies(found), *_batch_norm(found), *_optimizer(found),
        *_rounding(found),
        *_adapters(found), *_tied(found), *_moved(found),
    ]  # fmt: skip


def trained(found: Measured) -> str:
    """How it is known that this model was trained, or ''."""
    step = found.checkpoint.step if found.checkpoint.step is not None else found.steps
    if step is not None and step >= FEW_STEPS:
        return f"after {step:.0f} updates"
    if step is None and any(layer.trained_gain for layer in found.layers.values()):
        return "although the gains of normalisation layers were trained"
    return ""


def listed(names: Sequence[str]) -> str:
    return ", ".join(names[:NAMED]) + (" …" if len(names) > NAMED else "")


def _fact(
    found: Measured, identifier: str, present: bool, evidence: str, where: str | None = None, clarity: float = 1.0
) -> Fact:
    step = found.checkpoint.step if found.checkpoint.step is not None else found.steps
    # what was not seen in one checkpoint may be seen elsewhere; what was seen there stays true
    return Fact(identifier, present, evidence, where, step, clarity, None if present else PROBE)


def _nonfinite(found: Measured) -> Iterator[Fact]:
    weights = [layer for layer in found.layers.values() if layer.tensor.floating and not layer.stats.mask]
    bad = [layer for layer in weights if layer.stats.nonfinite]
    statistics = [layer for layer in bad if layer.buffer]
    bad = [layer for layer in bad if not layer.buffer]
    if bad:
        worst = [f"{layer.name}: {layer.stats.nonfinite} of {layer.stats.size}" for layer in bad]
        text = f"{len(bad)} of {len(weights)} tensors hold NaN or Inf ({listed(worst)})."
        yield _fact(found, "nonfinite-weight", True, text, bad[0].name)
    elif weights:
        count = sum(layer.stats.size for layer in weights)
        yield _fact(found, "nonfinite-weight", False, f"All {count:,} numbers in {len(weights)} tensors are finite.")
    if statistics:
        text = (
            f"The running statistics of {listed([layer.name for layer in statistics])} hold NaN or Inf: an "
            f"activation was not finite."
        )
        yield _fact(found, "nonfinite-activation", True, text, statistics[0].name)
    pushed = [layer.name for layer in found.layers.values() if layer.update is not None and layer.update.nonfinite]
    pushed += [name for name, update in found.unnamed.items() if update.nonfinite]
    if pushed:
        text = (
            f"The optimiser's moments hold NaN or Inf for {len(pushed)} of {len(found.updates)} parameters "
            f"({listed(pushed)}): a gradient was not finite."
        )
        yield _fact(found, "nonfinite-gradient", True, text, pushed[0])


def _matrices(found: Measured) -> list[Layer]:
    return [layer for layer in found.layers.values() if layer.matrix and not layer.stats.nonfinite]


def _at_start(found: Measured) -> Iterator[Fact]:
    matrices = _matrices(found)
    since = trained(found)
    if not matrices or not since:
        return
    # moments that push a matrix move it, if slowly
    left = [layer for layer in matrices if layer.untouched and (layer.update is None or not layer.update.ratio)]
    share = sum(layer.stats.size for layer in left) / sum(layer.stats.size for layer in matrices)
    known = bool(found.updates) and not found.unnamed
    if share >= (LEFT_OUT if known else LEFT):
        alone = ", and the optimiser keeps no moments for them" if known else ""
        text = (
            f"{len(left)} of {len(matrices)} weight matrices ({share * 100:.0f} % of their weights) are not "
            f"distinguishable from "
            f"initialisation ({left[0].start}) {since}{alone}: {listed([layer.name for layer in left])}."
        )
        yield _fact(found, "weights-at-start", True, text, left[0].name, 1.0 if share >= LEFT_MOST else 0.8)
    elif not left:
        text = f"None of {len(matrices)} weight matrices lies within the edges of a uniform start {since}."
        yield _fact(found, "weights-at-start", False, text)


def _held(found: Measured) -> Iterator[Fact]:
    """An optimiser that holds as many parameters as there are has missed none."""
    known = len(parameters(found.checkpoint.weights))
    held = sum(len(group.indices) for optimizer in found.checkpoint.optimizers for group in optimizer.groups)
    if known and held >= known:
        text = f"The optimiser holds {held} parameters, and the file has {known}."
        yield _fact(found, "parameters-not-optimized", False, text)


def _copies(found: Measured) -> Iterator[Fact]:
    hidden = [layer for layer in _matrices(found) if layer.stats.rows >= 2][:-1]
    equal = [layer for layer in hidden if layer.stats.copies]
    if equal:
        names = [layer.name for layer in equal]
        text = (
            f"In {len(equal)} of {len(hidden)} hidden weight matrices all rows are the same ({listed(names)}): "
            f"their units are copies of each other."
        )
        yield _fact(
            found,
            "equal-initial-weights",
            True,
            text,
            names[0],
            1.0 if len(equal) >= HALF_OF_MATRICES * len(hidden) else 0.7,
        )
        return
    differ = [
        layer for layer in hidden if layer.stats.constant is None and layer.stats.twin_rows < layer.stats.rows - 1
    ]
    if len(differ) > HALF_OF_MATRICES * len(hidden):
        text = f"The rows of {len(differ)} of {len(hidden)} hidden weight matrices differ."
        yield _fact(found, "equal-initial-weights", False, text)


def _batch_norm(found: Measured) -> Iterator[Fact]:
    """Running statistics exactly as they were made, in every layer, of a model that was trained: it never ran in train
    mode."""
    norms = [name.removesuffix(".running_var") for name in found.layers if name.endswith(".running_var")]
    fresh = [name for name in norms if untouched_statistics(found, name)]
    if not norms or len(fresh) < len(norms):
        return
    gains = [layer for name in norms if (layer := found.layers.get(f"{name}.weight")) is not None]
    moved = [layer for layer in gains if layer.stats.constant is None]
    if len(moved) >= HALF_OF_MATRICES * len(norms):
        text = (
            f"All {len(norms)} BatchNorm layers have the running statistics they were made with (mean 0, variance 1), "
            f"although "
            f"their gains were trained: the model never ran in train mode."
        )
        yield _fact(found, "trained-in-eval-mode", True, text, norms[0])


def untouched_statistics(found: Measured, norm: str) -> bool:
    mean, variance = found.layers.get(f"{norm}.running_mean"), found.layers.get(f"{norm}.running_var")
    counted = found.layers.get(f"{norm}.num_batches_tracked")
    if mean is None or variance is None or mean.stats.constant != 0 or variance.stats.constant != 1:
        return False
    return counted is None or counted.stats.constant == 0


def _optimizer(found: Measured) -> Iterator[Fact]:
    """The optimiser has counted far fewer updates than the trainer: its state was lost on the way."""
    step, made = found.checkpoint.step, found.steps
    optimizers = found.checkpoint.optimizers
    if step is None or step < FEW_STEPS or not optimizers:
        return
    if made is None:
        if all(optimizer.adam and not optimizer.state for optimizer in optimizers):
            text = f"The optimiser's state is empty although {step:.0f} updates were made: its moments are lost."
            yield _fact(found, "optimizer-rebuilt", True, text)
        return
    sure = found.checkpoint.curves is not None or found.checkpoint.format in _COUNTS_UPDATES
    if made < step * (REBUILT if sure else REBUILT_UNSURE):
        text = (
            f"The optimiser has counted {made:.0f} of {step:.0f} updates: its state was lost {step - made:.0f} "
            f"updates into the training."
        )
        yield _fact(found, "optimizer-rebuilt", True, text, None, 1.0 if made < 0.9 * REBUILT * step else 0.7)
    elif made >= 0.9 * step:
        yield _fact(
            found, "optimizer-rebuilt", False, f"The optimiser has counted {made:.0f} updates, the trainer {step:.0f}."
        )


def _rounding(found: Measured) -> Iterator[Fact]:
    """The update that the moments ask for, rounded as the weights are kept."""
    pushed = [
        (layer, layer.update.lost)
        for layer in found.layers.values()
        if layer.update is not None and layer.update.lost is not None
    ]
    weights = sum(layer.stats.size for layer, _ in pushed)
    if not pushed or _decayed(found):
        return
    share = sum(lost * layer.stats.size for layer, lost in pushed) / weights
    text = (
        f"Weights and moments are kept in bfloat16, and the update they ask for leaves {share * 100:.1f} % of the "
        f"elements exactly as they are."
    )
    if share >= LOST:
        yield _fact(
            found, "updates-lost-to-rounding", True, text, pushed[0][0].name, 1.0 if share >= LOST_PLAIN else 0.7
        )
    else:
        yield _fact(found, "updates-lost-to-rounding", False, text)


def _decayed(found: Measured) -> bool:
    """Whether the schedule has brought the rate down so far that small updates are meant."""
    for optimizer in found.checkpoint.optimizers:
        for group in optimizer.groups:
            rate, first = group.options.get("lr"), group.options.get("initial_lr")
            if isinstance(rate, float) and (rate == 0 or (isinstance(first, float) and rate < DECAYED * first)):
                return True
    return False


def _adapters(found: Measured) -> Iterator[Fact]:
    """LoRA's second matrix begins at zero; while it is zero the adapter adds nothing."""
    ends = [layer for layer in found.layers.values() if _ADAPTER_ZERO.search(layer.name)]
    if not ends or found.checkpoint.step == 0:
        return
    zero = [layer for layer in ends if layer.stats.constant == 0]
    if len(zero) == len(ends):
        text = (
            f"All {len(ends)} second matrices of the adapter are exactly zero "
            f"({listed([layer.name for layer in zero])}): it adds nothing."
        )
        yield _fact(found, "adapter-at-zero", True, text, zero[0].name, 1.0 if trained(found) else 0.8)
    elif not zero:
        yield _fact(found, "adapter-at-zero", False, f"None of {len(ends)} second matrices of the adapter is zero.")


def _tied(found: Measured) -> Iterator[Fact]:
    """The settings say that embedding and head are one matrix, and the file has two that differ."""
    if found.checkpoint.config.get("tie_word_embeddings") is not True:
        return
    head = _ending(found, _HEADS)
    embedding = _ending(found, _EMBEDDINGS)
    if head is None or embedding is None or head.tensor.shape != embedding.tensor.shape or ADAPTER.search(head.name):
        return
    apart = drift(embedding.tensor, head.tensor)
    if apart is None:
        return
    if apart.identical or apart.change == 0:
        yield _fact(found, "tied-weights-apart", False, f"{head.name} and {embedding.name} hold the same numbers.")
        return
    text = (
        f"The config ties {head.name} to {embedding.name}, but they differ by {apart.change * 100:.3g} % of their "
        f"norm (cosine {apart.cosine:.3f})."
    )
    yield _fact(found, "tied-weights-apart", True, text, head.name)


def _ending(found: Measured, names: Sequence[str]) -> Layer | None:
    return next((layer for layer in found.layers.values() if layer.name.endswith(tuple(names))), None)


def _moved(found: Measured) -> Iterator[Fact]:
    """Between two checkpoints with updates in between, weights that are the same bit for bit."""
    if found.before is None:
        return
    pairs = [layer for layer in _matrices(found) if layer.drift is not None]
    if not pairs:
        return
    still = [layer for layer in pairs if layer.drift is not None and layer.drift.identical]
    first, last = found.before.step, found.checkpoint.step
    between = f" over {last - first:.0f} updates" if first is not None and last is not None and last > first else ""
    if not still:
        yield _fact(found, "unchanged-weights", False, f"All {len(pairs)} weight matrices moved{between}.")
        return
    if len(still) == len(pairs):
        if between:
            text = f"All {len(pairs)} weight matrices are the same bit for bit{between}."
            yield _fact(found, "unchanged-weights", True, text, still[0].name)
        return
    random = [layer for layer in still if layer.untouched]
    if random:
        text = (
            f"{len(random)} of {len(pairs)} weight matrices stay exactly at their random start{between} while others "
            f"move "
            f"({listed([layer.name for layer in random])})."
        )
        yield _fact(found, "unchanged-weights", True, text, random[0].name, 0.9)
