"""What a program of the zoo is asked for: fault, severity, seed."""

from __future__ import annotations

import random
import sys

import torch


def asked() -> tuple[str, int, int]:
    """The three arguments of the command line; 'none' is the sound twin."""
    torch.set_num_threads(1)
    fault, severity, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    random.seed(seed)
    return fault, severity, seed
