"""`with traindx.watch(model, optimizer) as dx:` for people who prefer one line in their own code."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import Any

import torch

from traindx.diagnosis import Diagnosis
from traindx.engine import diagnose
from traindx.errors import TraindxError
from traindx.live.recorder import open_hub
from traindx.live.store import fresh_folder
from traindx.readers.find import find_runs
from traindx.reporters import reporters


class Watch:
    """Records what torch does inside the `with` block, as `traindx run` does for a whole script."""

    def __init__(self, *watched: Any, to: str | Path | None = None, budget: float = 0.01) -> None:
        """`watched`: the model, optionally others and the optimiser; naming them only helps to name layers early."""
        self.folder = Path(to) if to is not None else fresh_folder("watch", Path.cwd())
        self.budget = budget
        self._models = [one for one in watched if isinstance(one, torch.nn.Module)]

    def __enter__(self) -> Watch:
        self._hub = open_hub(self.folder, self.budget, None)
        self._hub.attach()
        for model in self._models:
            self._hub.meet(model)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            self._hub.cut_short = True
            self._hub.event("traceback", f"{kind.__name__}: {error}"[:300])
        self._hub.detach()

    def diagnose(self) -> Diagnosis:
        """The diagnosis of what has been recorded so far."""
        self._hub.write()
        if not self.folder.exists():
            raise TraindxError("Nothing was recorded: no optimiser step was seen.", "Train inside the with block.")
        return diagnose(find_runs([self.folder])[0])

    def report(self) -> Diagnosis:
        """Print the page and give the diagnosis."""
        page = self.diagnose()
        print(reporters()["text"].render([page], color=False, width=100), end="")
        return page


def watch(*watched: Any, to: str | Path | None = None, budget: float = 0.01) -> Watch:
    """Record a training from the inside: `with traindx.watch(model, optimizer) as dx: …; dx.report()`."""
    return Watch(*watched, to=to, budget=budget)
