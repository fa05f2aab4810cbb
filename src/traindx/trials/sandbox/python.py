"""No help from the system: only the guard inside Python (`traindx.trials.guard`) holds, which stops mistakes of a
script but neither a program that it starts nor native code."""

from __future__ import annotations

from traindx.trials.sandbox.base import Limits, Sandbox


def enter(limits: Limits) -> None:
    """Nothing to do here: the guard starts with torch in the arm itself."""


SANDBOX = Sandbox(
    "python", "a guard inside Python: it stops mistakes, not programs that the script starts, and not the network",
    False, enter,
)  # fmt: skip
