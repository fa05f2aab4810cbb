"""Other tools, each in an environment of its own, and what their findings stand for."""

from __future__ import annotations

import json
import subprocess
import sys
import venv
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from traindx.run import Run

HERE = Path(__file__).resolve().parent
NAN = {"lr-too-high", "exploding-gradients", "nan-in-data", "log-of-zero", "division-by-zero", "fp16-overflow"}
STUCK = {
    "lr-too-low",
    "lr-too-high",
    "detached-graph",
    "frozen-params",
    "params-not-in-optimizer",
    "labels-misaligned",
    "wrong-loss",
}
SPIKES = {"lr-too-high", "corrupt-samples", "grad-clip-missing", "warmup-missing"}
BLOWN = {"exploding-gradients", "lr-too-high", "init-too-large", "missing-zero-grad"}
FADED = {"vanishing-gradients", "lr-too-low", "saturation", "init-too-small"}
REST = {"lr-decay-missing", "lr-too-low", "lr-decayed-too-early", "model-too-small"}
LEAK = {"train-val-leak", "causal-mask-missing", "target-not-shifted"}
# what each tool's words stand for
MEANS: dict[str, dict[str, set[str]]] = {
    "runmedic": {
        "non_finite": NAN, "divergence": {"lr-too-high", "missing-zero-grad"}, "loss_spikes": SPIKES,
        "no_learning": STUCK,
        "overfitting": {"overfitting"}, "val_below_train": LEAK, "grad_spikes": BLOWN,
        "constant_lr_plateau": {"lr-decay-missing"},
        "input_bound": {"slow-data-loading"}, "slow_steps": {"slow-data-loading"}, "slowdown": {"slow-data-loading"},
    },
    "runwise": {
        "nan:critical": NAN, "spike:warning": SPIKES, "spike:critical": SPIKES, "overfit:warning": {"overfitting"},
        "overfit:critical": {"overfitting"}, "plateau:warning": REST, "gradient:vanish": FADED,
        "gradient:warning": BLOWN,
        "gradient:critical": BLOWN,
    },
    "training-doctor": {
        "gradient_instability": BLOWN, "mixed_precision_instability": {"fp16-overflow"}, "lr_too_high": {"lr-too-high"},
        "lr_too_low": {"lr-too-low"}, "overfitting": {"overfitting"},
        "train_eval_mismatch": {"train-mode-during-eval", "val-preprocessing-mismatch"},
        "plateau": REST, "early_plateau": REST,
    },
    "sk-autod": {
        "Data leakage": LEAK, "Dying ReLU proxy": {"dead-relu"}, "Missed early stopping": {"overfitting"},
        "Exploding gradient": BLOWN | NAN,
        "Label noise floor": {"labels-misaligned"}, "LR too high": {"lr-too-high"}, "LR too low": {"lr-too-low"},
        "Noisy training": {"batch-too-small", "lr-too-high"}, "Classic overfitting": {"overfitting"},
        "Underfitting": {"model-too-small", "lr-too-low"},
    },
    "trainpulse": {
        "nan_detector:critical": NAN, "loss_spike:warning": SPIKES, "gradient:critical": BLOWN,
        "gradient:vanish": FADED,
        "learning_rate:warning": {"lr-decayed-too-early"}, "plateau:warning": REST,
    },
    "mldoct": {
        "missing_zero_grad": {"missing-zero-grad"}, "Exploding Gradients": BLOWN, "Vanishing Gradients": FADED,
        "overfitting": {"overfitting"},
        "underfitting": {"model-too-small", "lr-too-low"},
        "Severe Label Noise / Corrupted Labels": {"labels-misaligned", "label-encoding-wrong"},
    },
    "torchdiag": {
        "not-finite": NAN, "nothing-changed": STUCK, "EXPLODE": BLOWN, "VANISH": FADED,
        "no_grad": {"detached-graph", "frozen-params"},
        "dead": {"dead-relu", "lr-too-high", "constant-init"},
    },
}  # fmt: skip
NEEDS = {"torchdiag": ["torch", "numpy"], "mldoct": ["scikit-learn", "pandas", "numpy"]}


KIN = [NAN, STUCK, SPIKES, BLOWN, FADED, REST, LEAK]


CURVES = ("train_loss", "val_loss", "lr", "grad_norm")
CURVE_POINTS = 300  # of a curve at most


def curves(run: Run) -> dict[str, list[list[float]]]:
    """What other tools ask for of a recording, thinned: rows of step and value."""
    kept = {}
    for name in CURVES:
        series = run.series.get(name)
        if series is not None and len(series):
            pick = range(0, len(series), max(1, len(series) // CURVE_POINTS))
            kept[name] = [[float(series.steps[i]), float(f"{series.values[i]:.5g}")] for i in pick]
    return kept


def ask(tool: str, traces: Iterable[dict[str, Any]], venvs: Path) -> dict[str, list[tuple[str, float]]]:
    """What a tool finds in each trace, by name: a trace holds `name` and, for each quantity, rows of step and value."""
    asked = [json.dumps(trace) + "\n" for trace in traces]
    script = HERE / f"ask_{tool.replace('-', '_')}.py"
    done = subprocess.run(
        [str(_environment(tool, venvs)), str(script)], input="".join(asked), capture_output=True, text=True, cwd=HERE
    )
    told = {line["name"]: line["findings"] for line in map(json.loads, done.stdout.splitlines())}
    if len(told) < len(asked):
        print(f"{tool} answered {len(told)} of {len(asked)}: {done.stderr[-500:]}", file=sys.stderr)
    return told


def _environment(tool: str, venvs: Path) -> Path:
    folder = venvs / tool
    python = folder / "bin" / "python"
    if not python.exists():
        venv.create(folder, with_pip=True)
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", *NEEDS.get(tool, []), tool], check=True)
    return python
