"""A small classification task that any framework learns in a few epochs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

INPUTS, CLASSES, TRAINED = 8, 3, 640


def task() -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Inputs and classes; those after TRAINED are for validation."""
    random = np.random.default_rng(1)
    x = random.normal(size=(TRAINED + 160, INPUTS)).astype(np.float32)
    truth = x @ random.normal(size=(INPUTS, CLASSES)) + 0.5 * random.normal(size=(len(x), CLASSES))
    return x, truth.argmax(1)
