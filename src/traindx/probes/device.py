"""What only an accelerator shows: how busy it is, what makes the host wait for it, and what half precision and pinned
memory buy."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable

import torch

from traindx.probes.base import Deadline
from traindx.probes.subject import Subject
from traindx.probes.timing import Gain, finish, gain, timed

PROFILED = 3  # steps
BRAIN_FLOATS_FROM = (8, 0)  # compute capability


def busy_share(update: Callable[[], object], device: torch.device) -> float | None:
    """The share of a step in which the device computes; None where the profiler cannot run."""
    try:
        with (
            warnings.catch_warnings(),
            torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile,
        ):
            warnings.simplefilter("ignore")
            finish(device)
            began = time.perf_counter()
            for _ in range(PROFILED):
                update()
            finish(device)
            wall = time.perf_counter() - began
        busy = sum(event.self_device_time_total for event in profile.key_averages()) * 1e-6
    except RuntimeError:
        return None
    return min(1.0, busy / wall) if busy > 0 else None


def synchronisations(update: Callable[[], object]) -> list[str]:
    """Where one step of the model and the optimiser makes the host wait for the device, as 'file:line'."""
    before = torch.cuda.get_sync_debug_mode()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        torch.cuda.set_sync_debug_mode("warn")
        try:
            update()
        finally:
            torch.cuda.set_sync_debug_mode(before)
    return [f"{w.filename}:{w.lineno}" for w in caught if str(w.message).startswith("called a synchronizing")]


def half_precision_gain(subject: Subject, work: Callable[[], object], deadline: Deadline) -> Gain | None:
    """Forward and backward under bfloat16 autocast against the script's way; None where it has that already or
    cannot."""
    device = subject.device
    narrow = any(p.dtype in (torch.float16, torch.bfloat16) for p in subject.parameters().values())
    if narrow or torch.cuda.get_device_capability(device) < BRAIN_FLOATS_FROM:
        return None
    seen: list[torch.dtype] = []
    with torch.no_grad():
        seen = [output.dtype for output in subject.outcome(0).outputs]
    if any(dtype in (torch.float16, torch.bfloat16) for dtype in seen):
        return None

    def halved() -> object:
        with torch.autocast("cuda", torch.bfloat16):
            return work()

    whole, half = timed([work, halved], device, deadline)
    return gain(whole, half)


def pinning_gain(subject: Subject, deadline: Deadline) -> tuple[float, Gain] | None:
    """Seconds that a batch takes to the device from ordinary memory, and how much faster it comes from pinned
    memory."""
    data = [*subject.steps[0].data, *subject.steps[0].targets]
    ordinary = [tensor.cpu() for tensor in data]
    pinned = [tensor.pin_memory() for tensor in ordinary]
    device = subject.device
    slow, fast = timed(
        [lambda: [t.to(device) for t in ordinary], lambda: [t.to(device, non_blocking=True) for t in pinned]], device,
        deadline
    )  # fmt: skip
    return slow.median, gain(slow, fast)
