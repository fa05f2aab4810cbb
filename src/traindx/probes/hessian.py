"""The Hessian of the user's loss without ever writing it down: products with vectors, and its extreme eigenvalues by
Lanczos."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

from traindx.probes.base import Deadline
from traindx.probes.subject import Step, Subject

MOST_ITERATIONS = 80
ACCURACY = 0.005  # of the largest eigenvalue, by Lanczos' own error bound
FEWEST = 5  # iterations before an error bound is believed
BASIS_BYTES = 1 << 30  # of Lanczos vectors kept for orthogonality; without them the extreme eigenvalues are still right
STEP = 1e-3  # of the size of the weights, for differences of gradients
SEED = 20260102
DIRECTIONS = 2  # in which the Hessian's symmetry is tried
ASYMMETRY = 0.1  # of what a product with a random direction usually is
Product = Callable[[torch.Tensor], torch.Tensor]


@dataclass(frozen=True)
class Spectrum:
    """Extreme eigenvalues with their error bounds."""

    largest: float
    smallest: float
    largest_error: float
    smallest_error: float
    iterations: int

    @property
    def size(self) -> float:
        return max(abs(self.largest), abs(self.smallest))

    @property
    def settled(self) -> bool:
        return max(self.largest_error, self.smallest_error) <= 2 * ACCURACY * self.size


class Hessian:
    """Of the mean loss over some steps, in the trained tensors as one long vector. Random numbers are those of the
    captured steps, so that it is one function. `exact` says how products are made: by differentiating twice, or by
    differences of gradients where some operation cannot be differentiated twice."""

    def __init__(self, subject: Subject, steps: Sequence[Step]) -> None:
        self._subject, self._steps = subject, steps
        self.tensors = [p for p in subject.parameters().values() if p.requires_grad]
        self.count = sum(p.numel() for p in self.tensors)
        self.products = 0
        with _differentiable_twice():
            self.gradient = self._mean(lambda step: self._gradient(step, None))
        self.exact = self._differentiates_twice()

    def __matmul__(self, vector: torch.Tensor) -> torch.Tensor:
        self.products += 1
        if self.exact:
            with _differentiable_twice():
                return self._mean(lambda step: self._gradient(step, vector))
        return self._by_differences(vector)

    def _mean(self, of: Callable[[Step], torch.Tensor]) -> torch.Tensor:
        total = of(self._steps[0])
        for step in self._steps[1:]:
            total = total + of(step)
        return total / len(self._steps)

    def _gradient(self, step: Step, vector: torch.Tensor | None) -> torch.Tensor:
        """The gradient of one step's loss, or the Hessian's product with a vector."""
        loss = self._subject.loss(step)
        found = torch.autograd.grad(loss, self.tensors, create_graph=vector is not None, allow_unused=True)
        if vector is None:
            return flat(found, self.tensors)
        pairs = [(g, v) for g, v in zip(found, self.split(vector), strict=True) if g is not None and g.requires_grad]
        if not pairs:
            return torch.zeros_like(vector)
        along = torch.stack([(g * v).sum().to(vector.device) for g, v in pairs]).sum()
        return flat(torch.autograd.grad(along, self.tensors, allow_unused=True), self.tensors)

    def _differentiates_twice(self) -> bool:
        """Whether second derivatives are there and whole. Operations without one raise, or are left out in silence;
        then what comes out is no longer symmetric, which random directions show."""
        step, scale = self._steps[0], self.count**0.5
        try:
            with _differentiable_twice():
                image = self._gradient(step, self.gradient)
                for seed in range(DIRECTIONS):
                    random = torch.randn(self.count, generator=torch.Generator().manual_seed(seed), dtype=image.dtype)
                    random = random.to(image.device)
                    there, back = float(random @ image), float(self.gradient @ self._gradient(step, random))
                    if not abs(there - back) <= ASYMMETRY * float(random.norm() * image.norm()) / scale:
                        return False
        except RuntimeError as error:
            if isinstance(error, torch.OutOfMemoryError):
                raise
            return False
        return True

    def _by_differences(self, vector: torch.Tensor) -> torch.Tensor:
        length = float(vector.norm())
        if length == 0:
            return torch.zeros_like(vector)
        size = float(torch.stack([p.detach().float().norm() for p in self.tensors]).norm())
        reach = STEP * max(size, 1e-3) / length
        kept = [p.detach().clone() for p in self.tensors]
        sides = []
        for sign in (1.0, -1.0):
            with torch.no_grad():
                for p, start, part in zip(self.tensors, kept, self.split(vector), strict=True):
                    p.copy_(start + sign * reach * part)
            sides.append(self._mean(lambda step: self._gradient(step, None)))
        with torch.no_grad():
            for p, start in zip(self.tensors, kept, strict=True):
                p.copy_(start)
        return (sides[0] - sides[1]) / (2 * reach)

    def split(self, vector: torch.Tensor) -> Iterator[torch.Tensor]:
        place = 0
        for p in self.tensors:
            yield vector[place : place + p.numel()].view(p.shape).to(p.device, p.dtype)
            place += p.numel()


def flat(parts: Sequence[torch.Tensor | None], like: Sequence[torch.Tensor]) -> torch.Tensor:
    """As one vector on the first tensor's device, in single precision at least; zeros where there is none."""
    precision = torch.float64 if like[0].dtype == torch.float64 else torch.float32
    dense = (
        torch.zeros_like(tensor) if part is None else part.to_dense() if part.is_sparse else part
        for part, tensor in zip(parts, like, strict=True)
    )  # fmt: skip
    return torch.cat([part.detach().reshape(-1).to(like[0].device, precision) for part in dense])


def spectrum(product: Product, like: torch.Tensor, deadline: Deadline) -> Spectrum:
    """Lanczos from a fixed random start, until both ends are known to ACCURACY, the whole space is spanned, or time is
    up."""
    generator = torch.Generator().manual_seed(SEED)
    vector = torch.randn(len(like), generator=generator, dtype=like.dtype).to(like.device)
    vector /= vector.norm()
    keep = MOST_ITERATIONS * vector.numel() * vector.element_size() <= BASIS_BYTES
    basis = [vector]
    diagonal, off_diagonal = list[float](), list[float]()
    found = Spectrum(math.nan, math.nan, math.inf, math.inf, 0)
    for number in range(min(MOST_ITERATIONS, len(like))):
        image = product(basis[-1])
        diagonal.append(float(image @ basis[-1]))
        image = image - diagonal[-1] * basis[-1]
        if len(basis) > 1:
            image = image - off_diagonal[-1] * basis[-2]
        if keep:
            whole = torch.stack(basis)
            for _ in range(2):  # once is not enough in floating point
                image = image - whole.T @ (whole @ image)
        length = float(image.norm())
        found = _ends(diagonal, off_diagonal, length)
        spanned = not length > 1e-6 * max(found.size, 1e-30)
        close = max(found.largest_error, found.smallest_error) <= ACCURACY * found.size
        if not math.isfinite(length) or spanned or (number >= FEWEST and close) or deadline.passed:
            break
        off_diagonal.append(length)
        basis = [*basis, image / length] if keep else [basis[-1], image / length]
    return found


def _ends(diagonal: list[float], off_diagonal: list[float], residual: float) -> Spectrum:
    """Eigenvalues of the small matrix; the error of each is the residual times the last component of its vector."""
    matrix = np.diag(diagonal) + np.diag(off_diagonal, 1) + np.diag(off_diagonal, -1)
    if not np.isfinite(matrix).all():
        return Spectrum(math.nan, math.nan, math.inf, math.inf, len(diagonal))
    values, vectors = np.linalg.eigh(matrix)
    errors = residual * np.abs(vectors[-1])
    return Spectrum(float(values[-1]), float(values[0]), float(errors[-1]), float(errors[0]), len(diagonal))


@contextmanager
def _differentiable_twice() -> Iterator[None]:
    """Attention and recurrent layers by kernels that have a second derivative; the fused ones have none."""
    with sdpa_kernel(SDPBackend.MATH), torch.backends.cudnn.flags(enabled=False):
        yield
