"""The gradient noise scale: how much single samples disagree about the direction, and the batch size from which more
agreement buys little (McCandlish et al. 2018, 'An Empirical Model of Large-Batch Training')."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch

from traindx.probes.base import Deadline
from traindx.probes.hessian import flat
from traindx.probes.rows import picking
from traindx.probes.subject import Step, Subject

PIECES = 8  # a batch is cut into
SAME_LOSS = 1e-3  # how closely the mean over the pieces must meet the whole batch's loss
FEWEST = 4  # gradients before their spread means anything
SURE = 2.0  # standard errors of an interval
KEPT_BYTES = 1 << 31  # of gradients held for the interval
SEED = 20260103


@dataclass(frozen=True)
class NoiseScale:
    """`size` samples; infinite where the mean gradient cannot be told from zero. `low` and `high` bound it at two
    standard errors. `variance` is that of one sample's gradient, summed over all weights; `signal` the squared norm of
    the mean."""

    size: float
    low: float
    high: float
    variance: float
    signal: float
    gradients: int
    samples_each: int


def noise_scale(subject: Subject, deadline: Deadline) -> NoiseScale | None:
    """From the gradients of pieces of the captured batches, or of whole batches where these cannot be cut: with batch
    norm, or where the loss is no mean over samples. None with too few of them."""
    tensors = [p for p in subject.parameters().values() if p.requires_grad]
    sizes = [step.size for step in subject.steps]
    common = max(set(sizes), key=sizes.count)
    steps = [step for step, size in zip(subject.steps, sizes, strict=True) if size == common]
    pieces = _pieces(subject, steps[0], common)
    each = common // pieces
    most = KEPT_BYTES // max(1, sum(4 * p.numel() for p in tensors))
    gathered = Gathered()
    torch.manual_seed(SEED)
    for step, piece in ((step, piece) for piece in range(pieces) for step in steps):
        if gathered.count >= most or (deadline.passed and gathered.count >= FEWEST):
            break
        cut = picking(common, range(piece * each, piece * each + each)) if pieces > 1 else None
        loss = subject.loss(step, cut, targets=cut, same_noise=False)
        gathered.add(flat(torch.autograd.grad(loss, tensors, allow_unused=True), tensors))
    return gathered.scale(each)


class Gathered:
    """Gradients as their inner products: enough for the noise scale and for leaving each of them out."""

    def __init__(self) -> None:
        self.total: torch.Tensor | None = None
        self._squares: list[float] = []
        self._vectors: list[torch.Tensor] = []

    @property
    def count(self) -> int:
        return len(self._squares)

    def add(self, gradient: torch.Tensor) -> None:
        self.total = gradient.double() if self.total is None else self.total + gradient
        self._squares.append(float(gradient.double().square().sum()))
        self._vectors.append(gradient)

    def scale(self, samples: int) -> NoiseScale | None:
        if self.count < FEWEST or self.total is None:
            return None
        whole = float(self.total.square().sum())
        along = [float(self.total @ gradient.double()) for gradient in self._vectors]
        variance, signal = _moments(sum(self._squares), whole, self.count, samples)
        left_out = [
            _moments(sum(self._squares) - square, whole - 2 * inner + square, self.count - 1, samples)
            for square, inner in zip(self._squares, along, strict=True)
        ]
        # of 1/size, which is finite and nearly normal where the signal drowns
        ratios = [s / v for v, s in left_out if v > 0]
        if not variance > 0 or len(ratios) < FEWEST:
            return None
        middle = sum(ratios) / len(ratios)
        error = math.sqrt((len(ratios) - 1) / len(ratios) * sum((ratio - middle) ** 2 for ratio in ratios))
        ratio = signal / variance
        low, high = (_inverse(ratio + SURE * error), _inverse(ratio - SURE * error))
        return NoiseScale(_inverse(ratio), low, high, variance, signal, self.count, samples)


def _moments(squares: float, whole: float, count: int, samples: int) -> tuple[float, float]:
    """Variance of one sample's gradient and squared norm of the mean, both without bias, from gradients over `samples`
    each."""
    spread = (squares - whole / count) / (count - 1)
    return samples * spread, whole / count**2 - spread / count


def _inverse(ratio: float) -> float:
    return 1 / ratio if ratio > 0 else math.inf


def _pieces(subject: Subject, step: Step, size: int) -> int:
    """Into how many pieces a batch may be cut: only where their mean loss is the batch's."""
    for pieces in (PIECES, 4, 2):
        if size % pieces == 0 and _adds_up(subject, step, size, pieces):
            return pieces
    return 1


def _adds_up(subject: Subject, step: Step, size: int, pieces: int) -> bool:
    each = size // pieces
    try:
        with torch.no_grad(), subject.mode(False):
            whole = float(subject.loss(step))
            cuts = [picking(size, range(k * each, k * each + each)) for k in range(pieces)]
            parts = [float(subject.loss(step, cut, targets=cut)) for cut in cuts]
    except (RuntimeError, ValueError, IndexError):
        return False  # shapes are written into the program
    normed = any(isinstance(layer, torch.nn.modules.batchnorm._BatchNorm) for layer in subject.layers().values())
    return not normed and len(step.parts) == 1 and abs(sum(parts) / pieces - whole) <= SAME_LOSS * max(abs(whole), 1e-6)


def steps_needed(batch: int, size: float) -> float:
    """How many times the least possible number of updates a training with this batch needs: 1 + noise scale / batch."""
    return 1 + size / batch if math.isfinite(size) else math.inf
