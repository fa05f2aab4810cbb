"""How the benchmark talks to another tool in that tool's own environment: traces in, findings out, one JSON line
each."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable
from typing import Any

Finding = tuple[str, float]  # what the tool calls it, and how sure it says it is (1 where it says nothing)


def serve(look: Callable[[dict[str, Any]], list[Finding]]) -> None:
    """Answer every line until there is none. A tool that fails on a trace finds nothing there."""
    out = sys.stdout
    sys.stdout = sys.stderr
    for line in sys.stdin:
        asked = json.loads(line)
        try:
            found = look(asked)
        except Exception as error:
            print(f"{asked['name']}: {type(error).__name__}: {error}", file=sys.stderr)
            found = []
        print(json.dumps({"name": asked["name"], "findings": found}), file=out, flush=True)


def rows(trace: dict[str, Any]) -> list[dict[str, float]]:
    """The trace as a logger would have it: a row a step, holding the last validation loss and gradient norm known by
    then."""
    table: dict[float, dict[str, float]] = {}
    for name in ("train_loss", "val_loss", "lr", "grad_norm"):
        for step, value in trace.get(name, ()):
            table.setdefault(step, {"step": step})[name] = value
    return [table[step] for step in sorted(table)]


def epochs(trace: dict[str, Any]) -> tuple[list[float], list[float]]:
    """Training and validation loss at each evaluation, training averaged in between."""
    training = trace.get("train_loss", [])
    low, train, val = -math.inf, [], []
    for step, value in trace.get("val_loss", []):
        inside = [v for at, v in training if low < at <= step]
        if inside:
            train.append(sum(inside) / len(inside))
            val.append(value)
            low = step
    return train, val
