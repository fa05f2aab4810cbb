"""Children of multiprocessing. Most help: workers of a data loader, of a pool. Some train: the ranks of
`torch.multiprocessing.spawn` and their kin. What tells them apart is what they do, so the recorder starts in a child
when it joins a process group or makes an optimiser, and not before."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from multiprocessing import parent_process, util
from typing import Any


def start_when_training(start: Callable[[], None]) -> None:
    """Call `start` once, when this process turns out to train."""
    import torch

    waiting: list[Callable[[], None]] = []  # what undoes the patches

    def begin() -> None:
        while waiting:
            waiting.pop()()
        start()

    for owner, name in ((torch.optim.Optimizer, "__init__"), (torch.distributed, "init_process_group")):
        original = getattr(owner, name, None)
        if original is not None:  # torch may be built without its distributed part
            waiting.append(_before_call(owner, name, original, waiting, begin))


def _before_call(
    owner: Any, name: str, original: Callable[..., Any], waiting: list[Callable[[], None]], begin: Callable[[], None]
) -> Callable[[], None]:
    @functools.wraps(original)
    def call(*args: Any, **kwargs: Any) -> Any:
        target = original
        if waiting:
            ours = getattr(owner, name) is call
            begin()
            target = getattr(owner, name) if ours else original  # the recorder has put its own patch there
        return target(*args, **kwargs)

    setattr(owner, name, call)
    return lambda: setattr(owner, name, original) if getattr(owner, name) is call else None


def at_end_of_child(stop: Callable[[BaseException | None], None]) -> None:
    """Call `stop` at the end of a child, with the exception that ends it. A forked child leaves by os._exit and what
    runs in a child is caught around it, so that neither atexit nor sys.excepthook would tell."""
    if parent_process() is not None:
        util.Finalize(None, lambda: stop(_ending()), exitpriority=0)


def _ending() -> BaseException | None:
    """torch's spawn sends the exception to the parent and exits; it is still there as the context of that exit."""
    error = sys.exc_info()[1]
    if isinstance(error, SystemExit):
        return error.__context__ if error.code else None
    return error
