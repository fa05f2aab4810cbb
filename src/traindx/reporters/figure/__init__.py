"""Figures: Run + Diagnosis → PNG. Everything that draws is imported only when something is drawn."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from traindx.errors import TraindxError

if TYPE_CHECKING:
    from traindx.diagnosis import Diagnosis
    from traindx.run import Run
    from traindx.signals import Settings

MAX_FIGURES = 20  # nobody looks through more pictures than this; the overlay still shows every run


def require_drawing() -> None:
    """Say at once, before any log is read, when there is nothing to draw with."""
    if find_spec("matplotlib") is None:
        raise TraindxError("drawing needs matplotlib, which is not installed.", 'Run: pip install "traindx[png]"')


def save_figures(pairs: Sequence[tuple[Run, Diagnosis]], output: Path, settings: Settings) -> list[Path]:
    """One run: its figure. Several: the overlay of their curves as `output`, and FILE-1, FILE-2, … for each of them."""
    from traindx.reporters.figure.overlay import draw_overlay
    from traindx.reporters.figure.panels import draw_run

    if len(pairs) == 1:
        return [draw_run(*pairs[0], settings, output)]
    written = [draw_overlay(pairs, settings, output)]
    for place, (run, diagnosis) in enumerate(pairs[:MAX_FIGURES], 1):
        numbered = output.with_name(f"{output.stem}-{place}{output.suffix}")
        written.append(draw_run(run, diagnosis, settings, numbered))
    return written
