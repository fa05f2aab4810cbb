"""A sample in small: a picture of a few pixels where it has the shape of one, else its first numbers."""

from __future__ import annotations

import base64

import torch

from traindx.live.measures.picks import Numbers, finite

SIDE = 24  # pixels at most
FEWEST = 8  # pixels on a side, from which numbers in rows and columns are a picture
CHANNELS = (1, 3, 4)
FIRST = 6  # numbers of a sample that is no picture
MAX_FEATURES = 1024  # of such a sample that are looked at


def small(data: torch.Tensor) -> torch.Tensor:
    """A view of the samples with few enough numbers to be brought to host memory: of pictures every so many pixels."""
    data = data.detach()
    if not _pictures(data.shape):
        return data.flatten(1)[:, :MAX_FEATURES] if data.dim() > 1 else data.reshape(-1, 1)
    if data.dim() == 3:
        data = data.unsqueeze(1)
    elif data.shape[1] not in CHANNELS:
        data = data.movedim(-1, 1)
    down, across = (-(-size // SIDE) for size in data.shape[2:])
    return data[:, :, ::down, ::across]


def _pictures(shape: torch.Size) -> bool:
    if len(shape) == 3:  # rows and columns of a picture in grey are as many, those of a sequence mostly are not
        return shape[1] == shape[2] >= FEWEST
    if len(shape) != 4:
        return False
    height, width = shape[2:] if shape[1] in CHANNELS else shape[1:3]
    return min(height, width) >= FEWEST and (shape[1] in CHANNELS or shape[3] in CHANNELS)


def range_of(sample: torch.Tensor) -> Numbers:
    """Smallest, mean and largest number."""
    numbers = sample.double()
    return tuple(finite(float(one)) for one in (numbers.min(), numbers.mean(), numbers.max()))


def first_numbers(sample: torch.Tensor) -> Numbers:
    return tuple(finite(float(value)) for value in sample.flatten()[:FIRST].tolist())


def pixels(sample: torch.Tensor) -> tuple[tuple[int, int, int], str]:
    """Height, width and channels, and the bytes in base64: from the smallest number of this sample, dark, to the
    largest."""
    numbers = sample[: 3 if len(sample) >= 3 else 1].double().nan_to_num(0.0, 0.0, 0.0)
    low, high = float(numbers.min()), float(numbers.max())
    scaled = (numbers - low) / ((high - low) or 1.0) * 255
    shown = scaled.round().to(torch.uint8).movedim(0, -1).contiguous()
    height, width, channels = shown.shape
    return (height, width, channels), base64.b64encode(bytes(shown.flatten().tolist())).decode("ascii")
