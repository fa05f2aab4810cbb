"""The outputs that a classification loss sees, as rows of one number for each class, and what those numbers look
like."""

from __future__ import annotations

from dataclasses import dataclass

import torch

SAMPLE = 1 << 19  # numbers looked at in one call: enough to be certain, cheap everywhere
EXACT = 1e-3  # how closely probabilities sum to 1 in single precision
ROUGH = 3e-2  # and in half precision
_HALF = (torch.float16, torch.bfloat16)


@dataclass(frozen=True, slots=True)
class Rows:
    """Shares of rows: that are probabilities, that are log-probabilities; and the middle of the log of their summed
    exp."""

    count: int
    classes: int
    probabilities: float
    log_probabilities: float
    log_sum: float


def watchable(tensor: torch.Tensor) -> bool:
    """Whether numbers may be taken from this tensor now: not inside a transform, a capture or a fake computation."""
    if type(tensor) not in (torch.Tensor, torch.nn.Parameter) or tensor.device.type == "meta" or not tensor.numel():
        return False
    if torch._C._functorch.is_functorch_wrapped_tensor(tensor):
        return False
    return not (tensor.is_cuda and torch.cuda.is_current_stream_capturing())


def head_sample(tensor: torch.Tensor) -> torch.Tensor:
    """Of a large tensor on a device the first samples only: it is to be brought from there."""
    tensor = tensor.detach()
    if tensor.is_cpu or not tensor.dim() or tensor.numel() <= SAMPLE:
        return tensor
    return tensor[: max(1, SAMPLE * len(tensor) // tensor.numel())]


def odd_stride(count: int, most: int) -> int:
    """From one of so many numbers to the next that is looked at: odd, so that it does not fall in step with the
    features."""
    return 1 if count <= most else (count // most + 1) | 1


def thinned(tensor: torch.Tensor) -> torch.Tensor:
    """Every sample as a row; of a large tensor on a device every so many of its numbers only."""
    rows = tensor.detach().flatten(1)
    return rows if rows.is_cpu else rows[:, :: odd_stride(rows.numel(), SAMPLE)]


def near(tensor: torch.Tensor) -> torch.Tensor:
    """The numbers in host memory, on deep steps only, since that waits for the device. A GPU would have to load every
    kind of operation that the look needs and the training does not."""
    return head_sample(tensor).cpu()


def class_rows(scores: torch.Tensor, dim: int = 1) -> torch.Tensor:
    """(N, C, …) as rows of C; of a large tensor the first samples only."""
    scores = scores.detach()
    if scores.dim() == 1:
        return scores.unsqueeze(0)
    each = max(1, scores.numel() // scores.shape[0])
    scores = scores[: max(1, SAMPLE // each)]
    return scores.movedim(dim, -1).flatten(0, -2) if scores.dim() > 2 else scores


def measure(scores: torch.Tensor, dim: int = 1) -> Rows:
    """What the rows look like."""
    rows = class_rows(scores, dim).cpu()
    near = ROUGH if rows.dtype in _HALF else EXACT
    rows = rows.float()
    log_sum = rows.logsumexp(1)
    proper = (rows >= 0).all(1) & ((rows.sum(1) - 1).abs() < near)
    logs = (log_sum.abs() < 2 * near) & (rows <= near).all(1)
    numbers = torch.stack([proper.float().mean(), logs.float().mean(), log_sum.median()]).tolist()
    return Rows(rows.shape[0], rows.shape[1], *numbers)
