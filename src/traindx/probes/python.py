"""`traindx.probe(model, data, loss_fn, optimizer)`: the probes for people who have the model in their hands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from traindx.diagnosis import Diagnosis
from traindx.engine import diagnose
from traindx.errors import TraindxError
from traindx.live.recording.adding import add_readings, require_recording
from traindx.meaning import meaning_of
from traindx.measurements import Measured
from traindx.opening import read
from traindx.probes.given import subject_of
from traindx.probes.kinds import probes as known_probes
from traindx.probes.runner import chosen, run_probes
from traindx.reading import Reading
from traindx.reporters import reporters
from traindx.reporters.readings import render
from traindx.run import PROBES, Run, Series


@dataclass(frozen=True)
class Probing:
    """What the probes measured (`readings`, by probe) and what that means (`diagnosis`)."""

    readings: dict[str, Reading]
    diagnosis: Diagnosis

    def __str__(self) -> str:
        page = reporters()["text"].render([self.diagnosis], color=False, width=100)
        return render(list(self.readings.values()), color=False, width=100) + page

    def plot(self, output: str | Path) -> Path:
        """Draw what was measured into a PNG file."""
        from traindx.reporters.figure import require_drawing
        from traindx.reporters.figure.chart import draw_readings

        require_drawing()
        return draw_readings(list(self.readings.values()), Path(output))


def probe(
    model: torch.nn.Module,
    batch_or_loader: Any,
    loss_fn: Callable[..., torch.Tensor] | None = None,
    optimizer: torch.optim.Optimizer | None = None,
    *,
    validation: Any = None,
    probes: Sequence[str] | None = None,
    seconds: float | None = None,
    add_to: str | Path | None = None,
) -> Probing:
    """Measure a model on its data and diagnose it. Afterwards the model, the optimiser and all random number generators
    are bit for bit what they were. `loss_fn(output, target)`, or `loss_fn(model, batch)` if its first argument is
    called `model`. `validation`: held-out batches or their loader. With `add_to`, a recording of `traindx run`, the
    findings are added to it and the diagnosis is of both together."""
    unknown = sorted(set(probes or ()) - set(known_probes()))
    if unknown:
        raise TraindxError(f"There is no probe called {unknown[0]!r}.", f"There are: {', '.join(known_probes())}.")
    if add_to is not None:
        require_recording(Path(add_to))
    subject = subject_of(model, batch_or_loader, loss_fn, optimizer, validation)
    readings = list(run_probes([subject], chosen(probes), seconds))
    run = run_of(readings, type(model).__name__)
    if add_to is not None:
        add_readings(Path(add_to), readings)
        run = read(add_to)[0]
    return Probing({reading.probe: reading for reading in readings}, diagnose(run))


def run_of(readings: Sequence[Reading], source: str) -> Run:
    """The evidence of probes alone as a Run."""
    run = Run(source, "probe", config={PROBES: ", ".join(reading.probe for reading in readings)})
    for reading in readings:
        for fact in reading.facts:
            before = run.facts.get(fact.id)
            if before is None or not before.present or (fact.present and fact.clarity > before.clarity):
                run.facts[fact.id] = fact
        if reading.measured:
            run.probed.append(Measured(reading.measured, probe=reading.probe))
        run.add_config(reading.config)
        for name, value in reading.values.items():
            at, one = np.array([float(reading.step)]), np.array([value])
            run.series[name] = Series(name, meaning_of(name), at, one)
    return run
