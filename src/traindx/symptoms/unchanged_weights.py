"""unchanged-weights: parameters that never change although they should."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from traindx.diagnosis import Observation
from traindx.measurements import FrozenParameters, Measured, UnheldParameters
from traindx.run import Series
from traindx.signals import Signals, lookup
from traindx.signals.choose import usable
from traindx.signals.inside import learned, objective, rank_of, significant_digits, update_ratios
from traindx.symptoms import frozen_weights, no_gradient, parameters_not_optimized
from traindx.symptoms.base import Case, Symptom, num
from traindx.symptoms.observed import from_measurements
from traindx.symptoms.recipes import falling, flat, ramp

ID = "unchanged-weights"
MIN_POINTS = 5
DIGITS = 5  # significant digits that must agree: three or four can hide a slow change
NAMED = 4
_FROZEN = re.compile(r"freez|frozen|lora|peft|adapter|linear_?prob", re.IGNORECASE)


# in the order in which the recorder looks
JUDGES = (parameters_not_optimized.judge, frozen_weights.judge, no_gradient.judge)


def judge(measured: Measured) -> Observation | None:
    """What no optimiser holds, what is frozen and what receives no gradient does not change; the latest of them is
    known. Without any of them the norms of the weights are asked."""
    found = [one for ask in JUDGES if (one := ask(measured)) is not None and one.state == "present"]
    return replace(max(reversed(found), key=lambda one: one.steps or (0.0, 0.0)), id=ID) if found else None


def detect(signals: Signals) -> Observation:
    series = [one for one in usable(signals.run, "weight_norm") if len(one) >= MIN_POINTS and rank_of(one) is None]
    series = [one for one in series if np.isfinite(one.values).all()]
    if not series:
        return Observation(ID, "unknown", f"Fewer than {MIN_POINTS} weight norms of one parameter were logged.")
    moved = {one.meaning.where for one in update_ratios(signals.run) if np.any(one.values)}
    still = [one for one in series if one.values.max() == one.values.min() and one.meaning.where not in moved]
    if not still:
        return Observation(ID, "absent", f"All {len(series)} logged weight norms or the weights behind them change.")
    if _resting(signals):
        return Observation(ID, "absent", "The learning rate is zero throughout, so the weights are meant to stay.")
    sure = [
        one
        for one in still
        if one.values[0] == 0 or significant_digits(one.values[0]) >= DIGITS or len(series) > len(still)
    ]
    names = ", ".join(one.meaning.where or one.name for one in still[:NAMED]) + (" …" if len(still) > NAMED else "")
    if not sure:
        text = f"{names}: always {num(still[0].values[0])}, but that is too few digits to see a slow change."
        return Observation(ID, "unknown", text)
    return _judge(signals, series, still, names)


def _judge(signals: Signals, series: list[Series], still: list[Series], names: str) -> Observation:
    summary = (
        f"{len(still)} of {len(series)} weight norms are the same to the last digit in all {len(still[0])} rows "
        f"({names})"
    )
    idle_adapter = any(not np.any(one.values) and "lora" in one.meaning.where for one in still)
    if len(still) < len(series) and not idle_adapter:
        planned = _frozen(signals.run.config)
        if planned:
            return Observation(ID, "absent", f"{summary}; the config says {planned}.")
        if all(one.meaning.where.endswith("bias") for one in still) and len(series) - len(still) > 1:
            return Observation(ID, "absent", f"{summary}: a loss that compares outputs asks nothing of such a bias.")
        if learned(objective(signals)):
            return Observation(ID, "absent", f"{summary}, but the loss came down: frozen on purpose, it seems.")
    return Observation(
        ID,
        "present",
        f"{summary}.",
        (float(still[0].steps[0]), float(still[0].steps[-1])),
        names,
        1.0 if len(still[0]) >= 10 else 0.7,
    )


def _resting(signals: Signals) -> bool:
    """Whether the learning rate is known to be zero."""
    if signals.lr is not None and np.isfinite(signals.lr.values).any():
        return bool(np.nanmax(signals.lr.values) == 0)
    return lookup.number(signals.run.config, "lr") == 0


def _frozen(config: Mapping[str, Any]) -> str:
    """The setting that freezes a part of the model on purpose, or ''."""
    for key, value in config.items():
        if _FROZEN.search(key) and str(value).lower() not in ("false", "0", "none", "", "no"):
            return f"{key} = {value}"
    return ""


SYMPTOM = Symptom(
    id=ID,
    title="weights never change",
    severity="problem",
    family="wiring",
    background=0.01,
    needs=("weight norms",),
    doc="""
## What is observed
Parameters keep the same value from the first row to the last although the learning rate is above zero.

## How it is measured
In a recording: parameters that no optimiser holds (`parameters-not-optimized`), that are frozen with random weights
(`frozen-weights`) or that receive no gradient (`no-gradient`). Otherwise, and in logs:
weight norms, of the model or by parameter, that agree to the last digit in all rows, five rows at least. A norm alone
in the log must show five significant digits, since three or four can hide a slow change; beside others that do move,
any norm that stands still counts. An update that is logged as above zero speaks against it. When only a part stands
still, a setting that freezes layers, an adapter method, or a loss that came down by half is taken as intent; not so
for an adapter matrix that stays exactly 0. Biases alone that stand still beside weights that move are no finding: a
loss that compares outputs (of a critic, of a ranking) asks nothing of the last bias.

## Healthy range
A frozen backbone in transfer learning stands still by plan. Under Adam with decay every trainable norm moves in its
sixth digit within a few steps, even when the learning rate is small.

## What it usually means
The parameters were not given to the optimiser (layers in a plain list, an optimiser built before the model was moved
or changed), requires_grad is off, optimizer.step() is never reached or always skipped by the loss scaler, or the
update is rounded away in low precision. A norm that stays exactly 0 in an adapter's second matrix means that the
adapter does nothing.
""",
    detect=from_measurements(ID, judge, otherwise=detect),
    cases=(
        Case(
            "a recording saw parameters that no optimiser holds",
            "present",
            measured=(
                UnheldParameters(reached=6, reached_weights=500, unheld=4, unheld_weights=400, names=("0.weight",)),
            ),
        ),
        Case(
            "a recording saw nothing of the kind",
            "unknown",
            measured=(UnheldParameters(reached=6, reached_weights=500),),
        ),
        Case(
            "a recording, and all norms move",
            "absent",
            lambda: {"weight_norm": ramp(50, 310.0, 340.0)},
            measured=(FrozenParameters(matrices=3, weights=432),),
        ),
        Case("no norm moves", "present", lambda: {"weight_norm": flat(50, 43.817253, 0), "lr": flat(50, 1e-3, 0)}),
        Case(
            "a part stands still and nothing is learned",
            "present",
            lambda: {
                "weight_norm/body": flat(50, 12.31, 0),
                "weight_norm/head": ramp(50, 3.0, 3.4),
                "loss": flat(50, 2.3, 0.004),
            },
        ),
        Case(
            "the bias of a critic, whose loss is a difference of its outputs",
            "absent",
            lambda: {
                "weight_norm/0.weight": ramp(50, 3.0, 3.4),
                "weight_norm/2.weight": ramp(50, 2.0, 2.3),
                "weight_norm/2.bias": flat(50, 0.12345, 0),
                "loss": flat(50, 0.7, 0.01),
            },
        ),
        Case(
            "adapter stays at zero",
            "present",
            lambda: {
                "weight_norm/lora_A": ramp(50, 3.0, 3.4),
                "weight_norm/lora_B": flat(50, 0.0),
                "loss": flat(50, 2.3, 0.004),
            },
            {"peft.method": "lora"},
        ),
        Case(
            "frozen backbone that learns",
            "absent",
            lambda: {
                "weight_norm/body": flat(50, 12.31, 0),
                "weight_norm/head": ramp(50, 3.0, 3.4),
                "loss": falling(50, 2.3, 0.3),
            },
        ),
        Case(
            "frozen by the config",
            "absent",
            lambda: {"weight_norm/body": flat(50, 12.31, 0), "weight_norm/head": ramp(50, 3.0, 3.4)},
            {"model.freeze_backbone": True},
        ),
        Case("learning rate zero", "absent", lambda: {"weight_norm": flat(50, 43.817253, 0), "lr": flat(50, 0.0)}),
        Case("ordinary growth", "absent", lambda: {"params norm": ramp(50, 310.0, 340.0)}),
        Case(
            "printed with three digits", "unknown", lambda: {"params norm": flat(50, 12.3, 0), "lr": flat(50, 1e-5, 0)}
        ),
        Case("not logged", "unknown", lambda: {"loss": falling(50, 2.3, 0.3)}),
    ),
)
