"""What is still wanted of a script once its steps are captured: how fast it runs by itself, and how it evaluates.

Both take a few more updates, which are undone with the others. Nothing is looked at closely meanwhile, so that the
times are the script's own; what the recorder takes is counted and subtracted."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch

from traindx.live.events.hub import Hub
from traindx.live.events.instrument import Criterion, Observer, on_every_step
from traindx.probes.subject import Pace, Step
from traindx.probes.tape import Unreplayable
from traindx.probes.tracer import Tracer

PACED = 12  # updates that are timed, or groups of GROUP where a device works behind
GROUP = 4
FEWEST = 3
PACE_SECONDS = 3.0  # at most
EVALUATION_SECONDS = 4.0  # to wait for the first evaluation
EVALUATIONS = 4  # batches of it that are kept
LATE = 3.0  # seconds beyond these limits that a step or an evaluation may take


class Lingering(Observer):
    """Watches evaluations from the beginning; from `begin` on it decides when the script has shown enough."""

    def __init__(self, hub: Hub, tracer: Tracer, pace: bool, evaluation: bool) -> None:
        super().__init__(hub)
        self._tracer, self._pace, self._evaluation = tracer, pace, evaluation
        self._then: Callable[[], None] | None = None
        self._until = 0.0
        self._waited = 0.0
        self._mark: tuple[float, float, float] | None = None  # when, what the recorder had taken, what was waited for
        self._updates = 0
        self._seconds: list[float] = []
        self._waits: list[float] = []
        self.evaluated: list[Step] = []

    @property
    def pace(self) -> Pace | None:
        if len(self._seconds) < FEWEST:
            return None
        return Pace(tuple(self._seconds), tuple(self._waits), self._tracer.reads_a_step)

    def begin(self, then: Callable[[], None], *, wait: bool) -> None:
        """The steps are captured. `then` is called when nothing more is to be seen, at once where nothing more is
        wanted; `wait` for an evaluation, should there be none yet."""
        self._then = then
        self._evaluation = self._evaluation and wait
        self.hub.disable_deep()
        if self._pace:
            self._tracer.stop()
            self._until = time.monotonic() + PACE_SECONDS
        else:
            self._await_evaluation()

    # --- events -------------------------------------------------------------------------------------------------------

    @on_every_step
    def on_batch(self, batch: Any, loader: Any, seconds: float) -> None:
        self._waited += seconds
        self._leave_if_late()

    @on_every_step
    def on_criterion(self, call: Criterion) -> None:
        """A loss that no gradient is wanted of: the script evaluates."""
        if self._evaluation and not self.hub.grad and len(self.evaluated) < EVALUATIONS:
            self._keep(call.output)
        self._leave_if_late()

    @on_every_step
    def on_updated(self, optimizer: torch.optim.Optimizer) -> None:
        if self._then is None:
            return
        if self._pace:
            self._time()
        elif self.evaluated or time.monotonic() > self._until:
            self._finish()
        else:
            self._tracer.reset()

    def on_end(self) -> None:
        self._finish()

    # --- the parts ----------------------------------------------------------------------------------------------------

    def _keep(self, loss: torch.Tensor) -> None:
        with self._tracer.looking_away():
            try:
                tape = self._tracer.cut(loss)
            except Unreplayable:
                return
        if tape.models:
            tape.forget_buffers()
            self.evaluated.append(Step((tape,), self.hub.step))
        if self._then is not None:
            self._tracer.reset()

    def _time(self) -> None:
        """One more update is made. The first group only warms up."""
        group = GROUP if torch.cuda.is_initialized() else 1  # type: ignore[no-untyped-call]
        self._updates += 1
        if self._updates % group:
            return
        if group > 1:
            torch.cuda.synchronize()
        now = time.perf_counter(), self.hub.spent, self._waited
        if self._mark is not None:
            wall, ours, waited = (new - old for new, old in zip(now, self._mark, strict=True))
            self._seconds.append(max(wall - ours, 0.0) / group)
            self._waits.append(waited / group)
        self._mark = now
        if len(self._seconds) >= PACED or time.monotonic() > self._until:
            self._pace = False
            self._await_evaluation()

    def _await_evaluation(self) -> None:
        if not self._evaluation or self.evaluated:
            self._finish()
            return
        self._until = time.monotonic() + EVALUATION_SECONDS
        self._tracer.start()

    def _leave_if_late(self) -> None:
        """A step or an evaluation takes too long to wait for its end: the script ends here."""
        if self._then is not None and time.monotonic() > self._until + LATE:
            with torch.inference_mode(False), torch.autocast("cpu", enabled=False), _no_cuda_autocast():
                self._finish()
            raise SystemExit(0)

    def _finish(self) -> None:
        then, self._then = self._then, None
        if then is not None:
            self._tracer.stop()
            then()


def _no_cuda_autocast() -> AbstractContextManager[Any]:
    return torch.autocast("cuda", enabled=False) if torch.cuda.is_available() else nullcontext()
