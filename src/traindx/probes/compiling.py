"""What torch.compile gains, measured: compiled once within a time limit, then timed in turns with the model as it is.

Compiling cannot be asked to stop, so an alarm signal ends it. Its caches go to a folder of their own that is removed
again."""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch

from traindx.probes.base import Deadline
from traindx.probes.subject import Subject
from traindx.probes.tape import Tape, uncompiled
from traindx.probes.timing import Gain, gain, timed

LEAST_SECONDS = 15.0  # shorter is not worth a try: a small network takes that long
TIMING = 3.0  # seconds of it are kept for the timing
_CACHES = ("TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR")
_HEADERS = "cpp_cache_precompile_headers"


class TookTooLong(BaseException):
    """Not an Exception: the compiler catches those and goes on another way."""


def compile_gain(subject: Subject, work: Callable[[], object], deadline: Deadline) -> Gain | str:
    """How much faster `work` is with compiled models, or why that is not known."""
    models = _called(subject)
    if not models:
        return "no module is called."
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        return "compiling could not be stopped in time here."
    seconds = deadline.left - TIMING
    if seconds < LEAST_SECONDS:
        return "compiling takes longer than it may among other probes; `traindx speed` has the time."
    fresh = "torch._dynamo" not in sys.modules
    try:
        with _own_caches(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ways = {id(model): torch.compile(model.forward) for model in models}

            def compiled() -> None:
                with uncompiled(False), _forwards(models, ways):
                    work()

            with _alarm(seconds):
                compiled()
            slow, fast = timed([work, compiled], subject.device, deadline)
        return gain(slow, fast)
    except TookTooLong:
        return f"compiling was given up after {seconds:.0f} s."
    except Exception as error:  # a compiler, its tools and the user's model: anything may be missing
        sentence = next((line for line in str(error).splitlines() if line.strip()), "no message")
        return f"compiling failed ({type(error).__name__}: {sentence[:120]})."
    finally:
        if fresh and "torch._dynamo" in sys.modules:
            torch._dynamo.reset()


def _called(subject: Subject) -> list[torch.nn.Module]:
    parts = subject.steps[0].parts
    tapes = [part for part in parts if isinstance(part, Tape)]
    called = [model for tape in tapes for model in tape.models] or list(subject.models)
    return list({id(model): model for model in called}.values())


@contextmanager
def _forwards(models: list[torch.nn.Module], ways: dict[int, Any]) -> Iterator[None]:
    for model in models:
        model.__dict__["forward"] = ways[id(model)]
    try:
        yield
    finally:
        for model in models:
            del model.__dict__["forward"]


@contextmanager
def _own_caches() -> Iterator[None]:
    """Caches in a folder that goes away, and no helper processes that would stay."""
    before = {name: os.environ.get(name) for name in _CACHES}
    with tempfile.TemporaryDirectory(prefix="traindx-compile-", ignore_cleanup_errors=True) as place:
        os.environ.update(dict.fromkeys(_CACHES, place))
        try:
            import torch._inductor.config  # makes the default folder when it is imported without these

            options: dict[str, Any] = {"compile_threads": 1, "fx_graph_cache": False}
            if hasattr(torch._inductor.config, _HEADERS):  # of torch from 2.8 on; they would be kept elsewhere
                options[_HEADERS] = False
            with torch._inductor.config.patch(options):
                yield
        finally:
            for name, value in before.items():
                os.environ.pop(name, None)
                if value is not None:
                    os.environ[name] = value


@contextmanager
def _alarm(seconds: float) -> Iterator[None]:
    def ring(number: int, frame: Any) -> None:
        raise TookTooLong

    handler = signal.signal(signal.SIGALRM, ring)
    left, interval = signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, left, interval)
        signal.signal(signal.SIGALRM, handler)
