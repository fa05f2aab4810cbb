"""Where many independent pieces of work run: on this machine (`local`), or on a Ray cluster (`ray`), on Slurm
(`slurm`). Same results on each."""

from __future__ import annotations

from traindx.errors import TraindxError
from traindx.executors.base import Executor, Lost

NAMES = ("local", "ray", "slurm")

__all__ = ["NAMES", "Executor", "Lost", "executor_for"]


def executor_for(
    name: str = "local", *, workers: int | None = None, address: str | None = None, chunk: int | None = None
) -> Executor:
    """The executor of this name; `workers` bounds local processes, `address` names an existing Ray cluster, `chunk`
    says how many items make one task there."""
    if name == "local":
        from traindx.executors.local import Local

        return Local(workers)
    if name == "ray":
        from traindx.executors.ray import Ray

        return Ray(address) if chunk is None else Ray(address, chunk)
    if name == "slurm":
        from traindx.executors.slurm import Slurm

        return Slurm()
    raise TraindxError(f"There is no executor called {name!r}.", f"There are: {', '.join(NAMES)}.")
