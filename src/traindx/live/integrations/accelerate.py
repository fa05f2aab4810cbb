"""Accelerate: `Accelerator(log_with=TraindxTracker())`, then `init_trackers`, `log` and `end_training` as ever."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from traindx.diagnosis import Diagnosis
from traindx.live.integrations.session import Session

if TYPE_CHECKING:

    class GeneralTracker:
        pass
else:
    from accelerate.tracking import GeneralTracker


class TraindxTracker(GeneralTracker):
    """Records the training from the inside from `init_trackers` on, takes in what is logged, and prints the diagnosis
    at `end_training`, or at the end of the script where an exception came first. `diagnosis` holds the page; the
    recording is NAME.traindx."""

    name = "traindx"
    requires_logging_directory = False
    main_process_only = False  # every rank is recorded

    def __init__(self, to: str | Path | None = None, *, budget: float = 0.01, report: bool = True) -> None:
        """`to`: where to record, accelerate.traindx by default; `budget`: the share of time it may take."""
        super().__init__()
        self._session = Session("accelerate", to, budget, report)

    @property
    def tracker(self) -> Session:
        return self._session

    @property
    def diagnosis(self) -> Diagnosis:
        return self._session.diagnosis

    def start(self) -> None:
        self._session.begin()

    def store_init_configuration(self, values: dict[str, Any]) -> None:
        self._session.begin()  # older versions do not call `start`
        self._session.config(values)

    def log(self, values: dict[str, Any], step: int | None = None, **kwargs: Any) -> None:
        """The recorder counts updates itself; the step that is given here may count batches or epochs."""
        self._session.log(values)

    def finish(self) -> None:
        self._session.end()
