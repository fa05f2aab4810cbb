"""Take the logarithm of a softmax or a sigmoid in log space, where no share rounds to zero."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch

from traindx.trials.picking import PICKING
from traindx.trials.treatment import Treatment

Logs = Callable[[], torch.Tensor]


class Shares(torch.Tensor):
    """Probabilities that know how to make their logarithms. Whatever is computed of them is an ordinary tensor."""

    logs: Logs
    rest: Logs | None  # the logarithms of what is missing to one

    @classmethod
    def of(cls, values: torch.Tensor, logs: Logs, rest: Logs | None = None) -> Shares:
        """The very tensor, since a copy or an alias would be one more step of the graph that the recorder reads."""
        shares: Any = values
        shares.__class__ = cls
        shares.logs, shares.rest = logs, rest
        return shares  # type: ignore[no-any-return]

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        with torch._C.DisableTorchFunctionSubclass():
            result = func(*args, **kwargs)
        name, first = getattr(func, "__name__", ""), args[0] if args else None
        if not isinstance(first, Shares) or not isinstance(result, torch.Tensor):
            return result
        if name in PICKING:
            logs, rest = first.logs, first.rest
            again = partial(_again, func, args[1:], kwargs)
            return cls.of(result, partial(again, logs), None if rest is None else partial(again, rest))
        if name in ("__rsub__", "rsub") and first.rest is not None and args[1:] == (1,):
            return cls.of(result, first.rest, first.logs)
        return result


def _again(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], logs: Logs) -> torch.Tensor:
    picked: torch.Tensor = func(logs(), *args, **kwargs)
    return picked


class LogSpace(Treatment):
    def attach(self) -> None:
        for name, make in (("softmax", self._softmax), ("sigmoid", self._sigmoid), ("log", self._log)):
            self.hub.patch(torch, name, make)
            self.around_method(name, make)

    def _softmax(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def softmax(input: Any, *args: Any, **kwargs: Any) -> Any:
            shares = original(input, *args, **kwargs)
            if self.hub.inside or type(shares) is not torch.Tensor:
                return shares
            return Shares.of(shares, partial(torch.log_softmax, input, *args, **kwargs))

        return softmax

    def _sigmoid(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def sigmoid(input: Any, *args: Any, **kwargs: Any) -> Any:
            shares = original(input, *args, **kwargs)
            if self.hub.inside or type(shares) is not torch.Tensor:
                return shares
            kept, rest = (partial(_log_sigmoid, input, sign) for sign in (1, -1))
            return Shares.of(shares, kept, rest)

        return sigmoid

    def _log(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def log(input: Any, *args: Any, **kwargs: Any) -> Any:
            if not isinstance(input, Shares):
                return original(input, *args, **kwargs)
            self.acted += int(bool((input.detach() <= 0).any()))
            return input.logs()

        return log


def _log_sigmoid(input: torch.Tensor, sign: int) -> torch.Tensor:
    return torch.nn.functional.logsigmoid(sign * input)


TREATMENT = LogSpace
