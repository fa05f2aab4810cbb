"""How figures look: one quiet style, colours that colour-blind readers can tell apart, text never read as markup."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from traindx.diagnosis import Verdict
from traindx.reporters.sparkline import LOG_FROM
from traindx.reporters.tokens import LIGHT
from traindx.reporters.wording import clean, number
from traindx.run import Floats

# the palette of Okabe and Ito, made for all kinds of colour vision
SERIES = tuple(LIGHT[f"s{place}"] for place in range(10))
TRAIN, VALIDATION, RATE, NORM, SCORE = SERIES[:5]
PROBLEM, NOTE, QUIET, INK = LIGHT["bad"], LIGHT["soft"], LIGHT["soft"], LIGHT["ink"]
VERDICT: dict[Verdict, str] = {"healthy": LIGHT["good"], "unhealthy": PROBLEM, "inconclusive": LIGHT["warn"]}
DPI = 130
TWO_DECADES = 100.0
_RC: dict[Any, Any] = {
    "font.size": 9.5, "text.parse_math": False, "axes.spines.top": False, "axes.spines.right": False,
    "axes.edgecolor": "#B9BEC5", "axes.labelcolor": INK, "text.color": INK, "xtick.color": "#5A6068",
    "ytick.color": "#5A6068", "axes.grid": True, "grid.color": "#E4E7EB", "grid.linewidth": 0.7, "axes.axisbelow": True,
    "legend.frameon": True, "legend.framealpha": 0.9, "legend.edgecolor": "#E4E7EB", "legend.fontsize": 8.5,
    "font.family": "DejaVu Sans", "path.simplify": False, "axes.formatter.useoffset": False,
}  # fmt: skip


@contextmanager
def figure(height: float, output: Path) -> Iterator[Figure]:
    """A figure in this style, written as PNG at the end; never a window, whatever the machine's settings say."""
    with rc_context(_RC), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a glyph no font has is not worth a line on stderr
        drawing = Figure(figsize=(11, height), dpi=DPI, layout="constrained", facecolor="white")
        FigureCanvasAgg(drawing)
        yield drawing
        drawing.savefig(output, format="png")


def label(text: str, most: int = 44) -> str:
    """A name from a log as legend text; matplotlib would drop one that begins with an underscore."""
    name = clean(text)
    name = name if len(name) <= most else f"{name[: most // 3]}…{name[-(most - most // 3 - 1) :]}"
    return f" {name}" if name.startswith("_") else name


def scale(axes: Axes, drawn: Sequence[Floats]) -> None:
    """A logarithmic value axis where the data asks for it; one that is linear near zero where signs are mixed."""
    values = np.concatenate([part[np.isfinite(part)] for part in drawn]) if drawn else np.empty(0)
    positive = values[values > 0]
    if not len(positive):
        return
    reach = float(positive.max() / max(positive.min(), 1e-300))
    if values.min() >= 0 and reach > LOG_FROM:
        axes.set_yscale("log", nonpositive="mask")
        # within two decades the powers of ten alone would leave most of the axis without a number
        axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if reach < TWO_DECADES else (1.0,), numticks=9))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: number(value)))
        axes.yaxis.set_minor_formatter(NullFormatter())
    elif values.min() < 0:
        usual = float(np.quantile(np.abs(values), 0.9))
        if usual > 0 and float(np.abs(values).max()) / usual > LOG_FROM:
            axes.set_yscale("symlog", linthresh=usual)
            axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: number(value)))
