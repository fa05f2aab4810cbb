"""Looks at numbers that came from a GPU, by one thread of the CPU."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def single_threaded() -> Iterator[None]:
    """Calculate with this thread only. Beside a training on a GPU the other threads of torch's pool sleep, and to wake
    them for one look took 11 ms on 16 cores; the look itself takes one."""
    threads = torch.get_num_threads()
    if threads == 1:
        yield
        return
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
