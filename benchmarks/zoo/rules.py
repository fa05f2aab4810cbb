"""Published rules of four systems, written anew from their thresholds, on what a recording holds.

SageMaker Debugger: built-in rules and their default parameters (AWS documentation). AutoTrainer: Zhang et al., ICSE
2021, table of symptoms. DeepDiagnosis: Wardat et al., ICSE 2022, list of symptoms. UMLAUT: Schoop et al., CHI 2021,
list of heuristics. Each rule names what it fires on; the causes it stands for are those its paper or page names first.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

Found = list[tuple[str, frozenset[str]]]
NAN_CAUSES = frozenset({"lr-too-high", "exploding-gradients", "nan-in-data", "log-of-zero", "division-by-zero"})
VANISHING = frozenset({"vanishing-gradients", "init-too-small", "saturation"})
EXPLODING = frozenset({"exploding-gradients", "lr-too-high", "init-too-large"})
DEAD = frozenset({"dead-relu", "lr-too-high", "constant-init"})
NOT_LEARNING = frozenset({"lr-too-low", "lr-too-high", "wrong-loss"})


def _losses(trace: dict[str, Any], name: str = "train_loss") -> np.ndarray:
    return np.array([value for _, value in trace.get(name, [])], dtype=float)


def _finite(values: np.ndarray) -> np.ndarray:
    return values[np.isfinite(values)]


def _broken(trace: dict[str, Any]) -> bool:
    return not np.isfinite(_losses(trace)).all()


def _gradients(trace: dict[str, Any]) -> list[float]:
    return [value for name, value in trace["layers"].get("grad_norm", {}).items() if name.endswith("weight")]


def _worst(trace: dict[str, Any], kind: str) -> float:
    return max(trace["layers"].get(kind, {}).values(), default=0.0)


def sagemaker(trace: dict[str, Any]) -> Found:
    found: Found = []
    train, val, norms = _finite(_losses(trace)), _finite(_losses(trace, "val_loss")), _gradients(trace)
    if _broken(trace):
        found.append(("ExplodingTensor", NAN_CAUSES))
    if norms and min(norms) < 1e-7:  # VanishingGradient: mean below 1e-7
        found.append(("VanishingGradient", VANISHING))
    if _worst(trace, "dead") > 0.5:  # DeadRelu: half of a layer inactive
        found.append(("DeadRelu", DEAD))
    if _worst(trace, "saturated") > 0.5:
        found.append(("SaturatedActivation", frozenset({"saturation", "init-too-large", "inputs-not-normalized"})))
    if len(train) >= 10 and np.mean(train[-5:]) > 0.9 * np.mean(
        train[:5]
    ):  # LossNotDecreasing: less than 10 % over the run
        found.append(("LossNotDecreasing", NOT_LEARNING))
    if len(val) >= 3 and len(train) and val[-1] > 1.1 * np.mean(train[-5:]) and val[-1] > val.min() * 1.05:
        found.append(("Overfit", frozenset({"overfitting"})))
    if len(val) and len(train) and np.mean(train[-5:]) > 1.1 * val[-1]:
        found.append(("Overtraining", frozenset({"overfitting"})))
    return found


def autotrainer(trace: dict[str, Any]) -> Found:
    found: Found = []
    train, norms = _finite(_losses(trace)), _gradients(trace)
    if _broken(trace) or (norms and max(norms) > 70):
        found.append(("exploding gradient", EXPLODING))
    if len(norms) >= 2 and norms[0] < 1e-4 and norms[0] < 1e-3 * norms[-1]:
        found.append(("vanishing gradient", VANISHING))
    if _worst(trace, "dead") > 0.7:
        found.append(("dying ReLU", DEAD))
    if len(train) >= 20:
        turns = np.sign(np.diff(train))
        swings = np.mean(turns[1:] != turns[:-1])
        if swings > 0.5 and train[-5:].mean() > 0.9 * train[:5].mean():
            found.append(("oscillating loss", frozenset({"lr-too-high", "momentum-too-high", "batch-too-small"})))
        elif train[-5:].mean() > 0.9 * train[:5].mean():
            found.append(("slow convergence", frozenset({"lr-too-low"})))
    return found


def deepdiagnosis(trace: dict[str, Any]) -> Found:
    found: Found = []
    train, norms = _finite(_losses(trace)), _gradients(trace)
    if _broken(trace):
        found.append(("numerical error", NAN_CAUSES))
    if norms and min(norms) < 1e-7:
        found.append(("vanishing gradient", VANISHING))
    if norms and max(norms) > 1e3:
        found.append(("exploding tensor", EXPLODING))
    if _worst(trace, "dead") > 0.5:
        found.append(("dead node", DEAD))
    if _worst(trace, "saturated") > 0.5:
        found.append(("saturated activation", frozenset({"saturation", "inputs-not-normalized"})))
    if len(train) >= 10 and not train[-1] < train[0]:
        found.append(("loss not decreasing", NOT_LEARNING))
    updates = list(trace["layers"].get("update_ratio", {}).values())
    if updates and min(updates) == 0:
        found.append(
            ("unchanged weight", frozenset({"lr-too-low", "frozen-params", "params-not-in-optimizer", "constant-init"}))
        )
    return found


def umlaut(trace: dict[str, Any]) -> Found:
    found: Found = []
    train, val = _finite(_losses(trace)), _finite(_losses(trace, "val_loss"))
    low, high = trace.get("inputs", (None, None))
    if low is not None and high is not None and (low < -1 or high > 1) and math.isfinite(high):
        found.append(("inputs not within -1..1", frozenset({"inputs-not-normalized"})))
    if _broken(trace):
        found.append(("NaN loss", NAN_CAUSES))
    if trace["rate"] > 0.01:
        found.append(("learning rate high", frozenset({"lr-too-high"})))
    if trace["rate"] < 1e-7:
        found.append(("learning rate low", frozenset({"lr-too-low"})))
    if len(val) >= 3 and len(train) and val[-1] > val.min() and train[-1] < train[0]:
        found.append(("overfitting", frozenset({"overfitting"})))
    return found


RULES: dict[str, Callable[[dict[str, Any]], Found]] = {
    "SageMaker Debugger rules": sagemaker, "AutoTrainer rules": autotrainer, "DeepDiagnosis rules": deepdiagnosis,
    "UMLAUT rules": umlaut,
}  # fmt: skip
