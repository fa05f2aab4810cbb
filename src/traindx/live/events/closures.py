"""Optimisers that compute the gradients themselves: `optimizer.step(closure)`, as L-BFGS needs and Lightning always
does."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from traindx.live.host.patches import Fault, guarded

Arguments = tuple[tuple[Any, ...], dict[str, Any]]


def observe_after_closure(
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    tell: Callable[[], None],
    unwatched: Callable[[], AbstractContextManager[None]],
    fault: Fault,
) -> Arguments | None:
    """The arguments of an optimiser's step with a closure that calls `tell` after its first run, when the gradients are
    there, and makes all other runs `unwatched`: L-BFGS evaluates a model twenty times for one update, and a close look
    at each would cost twenty times as much. None where there is no closure. `args[0]` is the optimiser."""
    place = next((index for index, one in enumerate(args) if index and callable(one)), None)
    closure = kwargs.get("closure") if place is None else args[place]
    if not callable(closure):
        return None
    reported = False

    def around(run: Callable[..., Any]) -> Callable[..., Any]:
        def evaluate(*inner: Any, **named: Any) -> Any:
            nonlocal reported
            if reported:
                with unwatched():
                    return run(*inner, **named)
            loss = run(*inner, **named)
            reported = True
            tell()
            return loss

        return evaluate

    evaluate = guarded(closure, around, fault)
    if place is None:
        return args, {**kwargs, "closure": evaluate}
    return (*args[:place], evaluate, *args[place + 1 :]), kwargs
