"""Measure how the loss is curved, whether the learning rate is too large for that, and how noisy the gradient is.

The largest and the smallest eigenvalue of the Hessian come from Lanczos iterations that only need products of the
Hessian with vectors. What matters for stability is the curvature per step of the optimiser, against the limit of that
optimiser; training hovers at that limit by itself, so only a multiple of it with a loss that rises says that the rate
is too high."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass

import msgspec
import numpy as np
import torch

from traindx.measurements import Sharpness
from traindx.probes.base import Deadline, Probe
from traindx.probes.hessian import Hessian, Spectrum, spectrum
from traindx.probes.noise_scale import NoiseScale, noise_scale, steps_needed
from traindx.probes.stability import Stability, stability_of
from traindx.probes.subject import Subject
from traindx.reading import Cell, Chart, Line, Mark, Reading, Table
from traindx.symptoms.base import num
from traindx.symptoms.lr_above_stable import is_far_beyond

ID = "curvature"
EXPECTED = 30  # products a spectrum usually needs
FEWEST = 12  # products, from which the largest eigenvalue is known roughly
FIRST_SHARE, SECOND_SHARE = 0.45, 0.5  # of the time left, for the Hessian's and then for the rescaled spectrum
FLAT = 0.01  # of the largest eigenvalue: negative curvature below it is none worth speaking of
UPDATES = 30  # at the script's own rate


@dataclass(frozen=True)
class _Found:
    hessian: Hessian
    ends: Spectrum
    along: float  # curvature along the gradient
    stability: Stability | None
    sharpness: float  # per step of the optimiser
    noise: NoiseScale | None
    batches: int


def measure(subject: Subject, deadline: Deadline) -> Reading:
    if not subject.loss(0).requires_grad:
        return Reading(
            ID,
            "not measured: the loss has no gradient.",
            unknown=("Curvature: the loss depends on no trained parameter.",),
        )
    hessian = Hessian(subject, subject.steps[:1])
    if not bool(hessian.gradient.isfinite().all()):
        return Reading(
            ID, "not measured: the gradient is not finite.", unknown=("Curvature: the gradient is not finite.",)
        )
    began = time.monotonic()
    hessian @ hessian.gradient
    each = time.monotonic() - began
    if each * FEWEST > deadline.left:
        sentence = f"Curvature: one product with the Hessian takes {num(each)} s, and {FEWEST} at least are needed."
        return Reading(ID, f"not measured: {sentence}", unknown=(sentence,))
    affordable = FIRST_SHARE * deadline.left / (EXPECTED * each)
    batches = max(1, min(len(subject.steps), 2 ** int(math.log2(max(affordable, 1)))))
    if batches > 1:
        hessian = Hessian(subject, subject.steps[:batches])
    ends = spectrum(hessian.__matmul__, hessian.gradient, Deadline(FIRST_SHARE * deadline.left))
    gradient = hessian.gradient
    slope = float(gradient @ gradient)
    along = float(gradient @ (hessian @ gradient)) / slope if slope > 0 else math.nan
    stability = stability_of(subject, hessian.tensors)
    sharpness = _sharpness(hessian, ends, stability, Deadline(SECOND_SHARE * deadline.left))
    noise = noise_scale(subject, Deadline(deadline.left))
    found = _Found(hessian, ends, along, stability, sharpness, noise, batches)
    return Reading(
        ID, _summary(subject, found), measured=tuple(_measured(subject, found)), values=_values(found),
        tables=_tables(subject, found), charts=_charts(subject, found), unknown=tuple(_unknown(subject, found)),
    )  # fmt: skip


def _sharpness(hessian: Hessian, ends: Spectrum, stability: Stability | None, deadline: Deadline) -> float:
    """The largest curvature per step of the optimiser."""
    if stability is None:
        return math.nan
    if stability.uniform is not None:
        return stability.uniform * ends.largest
    scales = stability.scales
    return spectrum(lambda vector: scales * (hessian @ (scales * vector)), scales, deadline).largest


def _measured(subject: Subject, found: _Found) -> Iterator[Sharpness]:
    """With updates at the script's rate where that is far beyond the limit: only two measurements that agree say
    anything."""
    stability = found.stability
    if stability is None or stability.estimated or subject.partial or subject.clip is not None:
        return
    if subject.optimizer is None or not math.isfinite(found.sharpness):
        return
    alone = Sharpness(sharpness=found.sharpness, limit=stability.limit, rule=stability.rule)
    if not is_far_beyond(alone):
        yield alone
        return
    before = _mean_loss(subject)
    with torch.enable_grad():
        for number in range(UPDATES):
            subject.update(subject.steps[number % len(subject.steps)], subject.optimizer)
    losses = {"before": before, "after": _mean_loss(subject)}
    finite = {name: loss if math.isfinite(loss) else None for name, loss in losses.items()}
    yield msgspec.structs.replace(alone, updates=UPDATES, **finite)


def _mean_loss(subject: Subject, batches: int | None = None) -> float:
    with torch.no_grad():
        return float(np.mean([float(subject.loss(step)) for step in subject.steps[:batches]]))


def _values(found: _Found) -> dict[str, float]:
    values = {"sharpness": found.ends.largest}
    if found.noise is not None and math.isfinite(found.noise.size):
        values["gradient_noise_scale"] = found.noise.size
    return values


def _summary(subject: Subject, found: _Found) -> str:
    ends = found.ends
    shape = (
        "no direction curves downwards" if ends.smallest >= -FLAT * ends.size
        else f"some directions have negative curvature ({num(ends.smallest)}), so no minimum is near"
    )  # fmt: skip
    text = f"Largest Hessian eigenvalue {num(ends.largest)}; {shape}."
    if found.stability is not None and math.isfinite(found.sharpness):
        share = found.sharpness / found.stability.limit
        text += (
            f" Learning rate × sharpness is {num(found.sharpness)}; the limit is {num(found.stability.limit)} "
            f"({found.stability.rule})."
        )
        if share > 1:
            text += " Trainings that work hover around it: alone it does not say that the rate is too high."
    if found.noise is not None:
        text += f" Gradient noise scale: {_interval(found.noise)} samples; batches have {subject.steps[0].size}."
    return text


def _interval(noise: NoiseScale) -> str:
    if math.isinf(noise.size):
        return f"above {noise.low:.0f}"
    top = f"{noise.high:.0f}" if math.isfinite(noise.high) else "∞"
    return f"{noise.size:.3g} ({noise.low:.0f} to {top})"


def _unknown(subject: Subject, found: _Found) -> list[str]:
    lacking = []
    if not found.ends.settled:
        lacking.append(
            f"Eigenvalues to better than {max(found.ends.largest_error, found.ends.smallest_error):.2g}: time was up."
        )
    if found.stability is None:
        kind = type(subject.optimizer).__name__ if subject.optimizer is not None else None
        lacking.append(f"Stability: no limit is known for {kind}." if kind else "Stability: no optimiser was given.")
    if found.noise is None:
        lacking.append("Gradient noise scale: too few batches were captured.")
    return lacking


def _tables(subject: Subject, found: _Found) -> tuple[Table, ...]:
    ends = found.ends
    how = "second derivatives" if found.hessian.exact else "differences of gradients"
    rows: list[tuple[Cell, ...]] = [
        ("largest eigenvalue", ends.largest, f"± {ends.largest_error:.1g}, {ends.iterations} iterations, by {how}, "
                                             f"{found.batches} batches"),
        ("smallest eigenvalue", ends.smallest, f"± {ends.smallest_error:.1g}"),
        ("curvature along the gradient", found.along,
         f"the best step along it is {num(1 / found.along)}" if found.along > 0 else "the loss falls ever faster along "
                                                                                     "it"),
    ]  # fmt: skip
    if found.stability is not None:
        note = (
            "; the optimiser had no statistics yet and got them from these batches" if found.stability.estimated else ""
        )
        rows.append(
            (
                "learning rate × sharpness",
                found.sharpness,
                f"limit {num(found.stability.limit)}: {found.stability.rule}{note}",
            )
        )
    if found.noise is not None:
        rows.append(("gradient noise scale", found.noise.size if math.isfinite(found.noise.size) else None,
                     f"{_interval(found.noise)} samples, from {found.noise.gradients} gradients of "
                     f"{found.noise.samples_each}"))  # fmt: skip
    tables = [Table("Curvature and noise", ("quantity", "value", ""), tuple(rows))]
    if found.noise is not None and math.isfinite(found.noise.size):
        size = subject.steps[0].size
        sizes = [max(1, int(size * factor)) for factor in (0.25, 0.5, 1, 2, 4, 16)]
        efforts = tuple(
            (b, steps_needed(b, found.noise.size), 1 / (1 + b / found.noise.size)) for b in dict.fromkeys(sizes)
        )
        tables.append(
            Table(
                "What a batch size costs (1 is the least possible)",
                ("batch", "updates needed", "use of each sample"),
                efforts,
            )
        )
    return tuple(tables)


def _charts(subject: Subject, found: _Found) -> tuple[Chart, ...]:
    """The loss along the gradient, as it is and as its curvature predicts."""
    gradient, slope = found.hessian.gradient, float(found.hessian.gradient @ found.hessian.gradient)
    if not slope > 0 or not found.ends.size > 0:
        return ()
    reach = 2 / found.along if found.along > 0 else 2 / found.ends.size
    starts = [p.detach().clone() for p in found.hessian.tensors]
    places = np.linspace(-0.25 * reach, reach, 11)
    losses = []
    with torch.no_grad():
        for place in places:
            for p, start, part in zip(found.hessian.tensors, starts, found.hessian.split(gradient), strict=True):
                p.copy_(start - place * part)
            losses.append(_mean_loss(subject, found.batches))
        for p, start in zip(found.hessian.tensors, starts, strict=True):
            p.copy_(start)
    first = float(np.interp(0.0, places, losses))
    predicted = first - places * slope + 0.5 * found.along * slope * places**2
    marks = []
    if found.stability is not None and found.stability.uniform is not None and found.stability.uniform < reach:
        marks.append(Mark(found.stability.uniform, "your step"))
    lines = (
        Line("loss", tuple(places.tolist()), tuple(losses), "points"),
        Line("by gradient and curvature", tuple(places.tolist()), tuple(predicted.tolist())),
    )
    return (Chart("The loss along the gradient", "step length × gradient", "loss", lines, tuple(marks)),)


PROBE = Probe(ID, "curvature and gradient noise", measure, seconds=6.0)
