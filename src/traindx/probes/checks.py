"""Small questions put to a model and its data, one function each. Each answers with a verdict and a sentence; None is:
cannot say."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from traindx.live.instruments.causality import next_tokens
from traindx.probes.looking import Seen, looking
from traindx.probes.subject import Step, Subject, Swap
from traindx.symptoms.base import clarity
from traindx.symptoms.sees_the_future import SHIFTED
from traindx.symptoms.val_inputs_differ import scale_distance

LEAST_CHANGE = 1e-5  # of the outputs' size; also ten times what two equal calls differ by
FEWEST = 4  # samples (or tokens) a trial needs
OTHER_SCALE, PLAIN_SCALE = 3.0, 10.0  # ratio of standard deviations, or distance of means in training deviations


@dataclass(frozen=True)
class Answer:
    """`problem`: True, False, or None where the question could not be put."""

    problem: bool | None
    sentence: str


def samples_mixed(subject: Subject, step: Step) -> Answer:
    """Does a sample's output change when another sample of the batch is exchanged? In evaluation mode, where batch norm
    does not look at the batch."""
    size = _batch_size(step)
    if size is None:
        return Answer(None, "which dimension counts the samples is not certain")
    if any(
        getattr(layer, "track_running_stats", True) is False
        and isinstance(layer, torch.nn.modules.batchnorm._BatchNorm)
        for layer in subject.layers().values()
    ):
        return Answer(None, "batch norm without running statistics mixes samples by design")
    half = size // 2

    def other_first(tensor: torch.Tensor) -> torch.Tensor:
        if not tensor.dim() or tensor.shape[0] != size:
            return tensor
        changed = tensor.clone()
        changed[0] = tensor[half]
        return changed

    if all(torch.equal(other_first(tensor), tensor) for tensor in step.data):
        return Answer(None, "the samples are all alike")
    first, again, changed = _outputs(subject, step, (None, None, other_first))
    if first is None or again is None or changed is None or first.shape[0] != size:
        return Answer(None, "the model gives no output for each sample")
    change = _change(first[1:], again[1:], changed[1:])
    if change is None:
        return Answer(None, "the outputs are not finite")
    if change > 0:
        return Answer(True, f"exchanging one sample changes the outputs of the others by {change:.2g} of their size")
    return Answer(False, f"exchanging one sample leaves the outputs of the other {size - 1} as they were")


def sees_future(subject: Subject, step: Step) -> Answer:
    """Where the targets are the next tokens: do earlier outputs change with the last token?"""
    tokens = next((t for t in step.data if t.dim() == 2 and not t.is_floating_point() and t.shape[1] >= FEWEST), None)
    targets = [t for t in (*step.targets, *step.data) if tokens is not None and t is not tokens]
    if tokens is None or not any(SHIFTED.reached(next_tokens(tokens, target)) for target in targets):
        return Answer(None, "the targets are not the next tokens of the input")

    def other_last(tensor: torch.Tensor) -> torch.Tensor:
        if tensor is not tokens:
            return tensor
        changed = tensor.clone()
        changed[:, -1] = torch.where(tensor[:, -1] == tensor[:, 0], tensor[:, 1:].amax(1), tensor[:, 0])
        return changed

    states = [_states(subject, step, tokens, swap) for swap in (None, None, other_last)]
    if any(state is None for state in states) or torch.equal(other_last(tokens), tokens):
        return Answer(None, "no layer gives one output for each token")
    first, again, changed = (state[:, :-1] for state in states if state is not None)
    change = _change(first, again, changed)
    if change is None:
        return Answer(None, "the outputs are not finite")
    if change > 0:
        return Answer(
            True, f"changing the last token changes the outputs at earlier positions (relative change {change:.2g})"
        )
    return Answer(
        False,
        f"changing the last token changes no output at earlier positions ({tokens.shape[1]} positions)",
    )


def input_unused(subject: Subject, step: Step) -> Answer:
    """Do the outputs change at all with other inputs?"""

    def other(tensor: torch.Tensor) -> torch.Tensor:
        return tensor.roll(1, 0) if tensor.dim() and tensor.shape[0] > 1 else tensor

    if not step.data or all(torch.equal(other(tensor), tensor) for tensor in step.data):
        return Answer(None, "the samples are all alike")
    first, again, changed = _outputs(subject, step, (None, None, other))
    if first is None or again is None or changed is None:
        return Answer(None, "the model gives no output for each sample")
    if first.shape != changed.shape or first.dim() < 2 or first.shape[0] < FEWEST:
        return Answer(None, "the model gives no output for each sample")
    change = _change(first, again, changed)
    if change is None:
        return Answer(None, "the outputs are not finite")
    if change > 0:
        return Answer(False, f"other inputs change the outputs by {change:.2g} of their size")
    return Answer(True, "the outputs are the same whatever goes in")


def deterministic(subject: Subject, step: Step) -> Answer:
    """Does the same computation with the same random numbers give the same loss?"""
    with torch.no_grad():
        one, two = float(subject.loss(step)), float(subject.loss(step))
    if one == two or (math.isnan(one) and math.isnan(two)):
        return Answer(False, f"twice {one:.6g} with the same random numbers")
    return Answer(True, f"{one:.8g} and {two:.8g} with the same random numbers")


def modes_differ(subject: Subject, steps: Sequence[Step]) -> Answer:
    """The loss in training and in evaluation mode on the same batches."""
    with torch.no_grad():
        with subject.mode(True):
            training = sum(float(subject.loss(step)) for step in steps) / len(steps)
        with subject.mode(False):
            evaluation = sum(float(subject.loss(step)) for step in steps) / len(steps)
    sentence = f"loss {training:.4g} in training mode, {evaluation:.4g} in evaluation mode"
    ratio = evaluation / training if training else math.nan
    return Answer(None if not math.isfinite(ratio) else bool(subject.step and ratio > 2.0), sentence)


def data_broken(subject: Subject) -> Answer:
    """NaN or Inf in what goes in."""
    tensors = [t for step in subject.steps for t in (*step.data, *step.targets) if t.is_floating_point()]
    bad = sum(int((~tensor.isfinite()).sum()) for tensor in tensors)
    if not tensors:
        return Answer(None, "the data are whole numbers")
    if bad:
        return Answer(True, f"{bad} values of {len(subject.steps)} batches are NaN or Inf")
    return Answer(False, f"all values of {len(subject.steps)} batches are finite")


def inputs_differ(subject: Subject) -> tuple[Answer, float]:
    """Whether held-out inputs have another scale than those of the training, and how clear that is."""
    (mean, std), batches = _scale(subject.steps), [_scale([step]) for step in subject.held_out]
    distances = [scale_distance(batch, mean, std) for batch in batches if math.isfinite(batch[0] + batch[1])]
    if not math.isfinite(mean + std) or std <= 0 or not distances:
        return Answer(None, "no inputs of an evaluation to compare"), 0.0
    there = _scale(subject.held_out)
    sentence = f"mean {there[0]:.3g} and deviation {there[1]:.3g} held out, {mean:.3g} and {std:.3g} in training"
    nearest = min(distances)
    if nearest <= OTHER_SCALE:
        return Answer(False, sentence), 1.0
    return Answer(True, sentence), clarity(math.log(nearest), math.log(OTHER_SCALE), math.log(PLAIN_SCALE))


def _scale(steps: Sequence[Step]) -> tuple[float, float]:
    """Mean and deviation of the first input that holds floats."""
    found = [next((t for t in step.data if t.is_floating_point() and t.dim() > 1), None) for step in steps]
    numbers = [tensor.double().flatten() for tensor in found if tensor is not None]
    if not numbers:
        return math.nan, math.nan
    whole = torch.cat(numbers)
    return float(whole.mean()), float(whole.std(unbiased=False))


def data_ranges(step: Step, of: str = "") -> list[tuple[str, Answer]]:
    """What the data look like, for the eye."""
    rows: list[tuple[str, Answer]] = []
    for kind, tensors in ((f"{of}input", step.data), (f"{of}target", step.targets)):
        for tensor in tensors[:3]:
            numbers = tensor.double()
            if not numbers.numel() or not bool(numbers.isfinite().all()):
                continue
            sentence = (
                f"{tuple(tensor.shape)} {str(tensor.dtype).removeprefix('torch.')}, {float(numbers.min()):.4g} to "
                f"{float(numbers.max()):.4g}"
            )
            if tensor.is_floating_point():
                sentence += f", mean {float(numbers.mean()):.3g}, std {float(numbers.std(unbiased=False)):.3g}"
            elif tensor.dim() == 1:
                sentence += f", {len(set(tensor.tolist()))} different"
            rows.append((kind, Answer(None, sentence)))
    return rows


def _batch_size(step: Step) -> int | None:
    """The number of samples, where it is certain that the first dimension counts them."""
    if len(step.parts) != 1 or not step.data or step.data[0].dim() < 2:
        return None
    data = step.data[0]
    size = data.shape[0]
    labelled = any(target.dim() == 1 and target.shape[0] == size for target in step.targets) and data.shape[1] != size
    features = data.dim() == 2 and data.is_floating_point()
    return size if size >= FEWEST and (labelled or features or data.dim() >= 4) else None


def _outputs(subject: Subject, step: Step, swaps: tuple[Swap | None, ...]) -> list[torch.Tensor | None]:
    """The first model's output under each swap, in evaluation mode, with equal noise."""
    found: list[torch.Tensor | None] = []
    with torch.no_grad(), subject.mode(False):
        for swap in swaps:
            outputs = subject.outcome(step, swap).outputs
            found.append(outputs[-1].detach().clone() if outputs and outputs[-1].dim() else None)
    return found


def _states(subject: Subject, step: Step, tokens: torch.Tensor, swap: Swap | None) -> torch.Tensor | None:
    """The last layer's output that has one row for each token."""
    found: list[torch.Tensor] = []

    def keep(seen: Seen) -> None:
        if seen.kind == "layer" and seen.output.dim() == 3 and seen.output.shape[:2] == tokens.shape:
            found[:] = [seen.output.detach().clone()]

    with torch.no_grad(), subject.mode(False), looking(subject, keep, functions=False):
        subject.loss(step, swap)
    return found[0] if found else None


def _change(first: torch.Tensor, again: torch.Tensor, changed: torch.Tensor) -> float | None:
    """How much an exchange changes, relative to the size; 0 within what two equal calls differ by."""
    size = float(first.float().abs().amax())
    noise = float((first.float() - again.float()).abs().amax())
    change = float((first.float() - changed.float()).abs().amax())
    if not all(math.isfinite(value) for value in (size, noise, change)):
        return None
    return change / size if size and change > max(LEAST_CHANGE * size, 10 * noise) else 0.0
