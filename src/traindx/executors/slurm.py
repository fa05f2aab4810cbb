"""A Slurm cluster, through submitit: one job an item, on storage that every node sees under the same path."""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from traindx.errors import TraindxError
from traindx.executors.base import TRIES, ItemT, Lost, ResultT

POLL_SECONDS = 0.5
_EXCEPTION = re.compile(r"[\w.]*(Error|Exception)\b")
HOURS = 4  # a job may take


class Slurm:
    """`folder` is where submitit keeps its files; `cluster` is 'slurm', or 'local' for processes of this machine."""

    def __init__(
        self, folder: Path | None = None, cluster: str = "slurm", options: dict[str, Any] | None = None
    ) -> None:
        if find_spec("submitit") is None:
            raise TraindxError(
                "--executor slurm needs submitit, which is not installed.", 'Run: pip install "traindx[slurm]"'
            )
        if cluster == "slurm" and shutil.which("srun") is None:
            raise TraindxError(
                "--executor slurm needs a Slurm cluster, and this machine has no srun.",
                "Run it on a login node, or leave out --executor.",
            )
        self.folder = folder or Path.home() / ".cache" / "traindx" / "slurm"
        self.cluster = cluster
        self.options = options or {}

    def map(self, function: Callable[[ItemT], ResultT], items: Sequence[ItemT]) -> Iterator[tuple[int, ResultT | Lost]]:
        submitit = import_module("submitit")  # typed by nobody, and not there for most
        ended, raised = submitit.core.utils.UncompletedJobError, submitit.core.utils.FailedJobError
        executor = submitit.AutoExecutor(folder=str(self.folder), cluster=self.cluster)
        executor.update_parameters(timeout_min=60 * HOURS, **self.options)
        running = {place: (executor.submit(function, item), 1) for place, item in enumerate(items)}
        try:
            while running:
                for place, (job, tries) in list(running.items()):
                    if not job.done():
                        continue
                    del running[place]
                    error = job.exception()
                    if error is None:
                        yield place, job.result()
                    elif tries < TRIES and isinstance(error, ended) and not isinstance(error, raised):
                        running[place] = (executor.submit(function, items[place]), tries + 1)  # its node died
                    else:
                        yield place, Lost(_reason(error))
                if running:
                    time.sleep(POLL_SECONDS)
        finally:
            for job, _ in running.values():
                job.cancel()


def _reason(error: Exception) -> str:
    """The line of a job's traceback that names the exception."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    named = [line for line in lines if _EXCEPTION.match(line)]
    return named[-1] if named else lines[0] if lines else type(error).__name__
