"""Let every token be judged by the one after it, where a language model is given its own input as the target."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from traindx.trials.treatment import Treatment


class Shift(Treatment):
    def attach(self) -> None:
        self._tokens: torch.Tensor | None = None
        self.around_models(self._call)
        self.around_criteria(self._change, "cross_entropy", "nll_loss")

    def _call(
        self, original: Callable[..., Any], module: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        given = next((one for one in (*args, *kwargs.values()) if isinstance(one, torch.Tensor)), None)
        if given is not None and given.dim() == 2 and not given.is_floating_point():
            self._tokens = given
        return original(module, *args, **kwargs)

    def _change(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        tokens = self._tokens
        if tokens is None or tokens.shape[1] < 2 or len(args) < 2:
            return args, kwargs
        output, target = args[:2]
        if target.numel() != tokens.numel() or not torch.equal(target.reshape(-1), tokens.reshape(-1)):
            return args, kwargs
        rows, length = tokens.shape
        if output.dim() == 2 and len(output) == tokens.numel():
            before = output.reshape(rows, length, -1)[:, :-1].reshape(-1, output.shape[-1])
            after = tokens[:, 1:].reshape(-1)
        elif output.dim() == 3 and output.shape[2] == length:
            before, after = output[:, :, :-1], tokens[:, 1:]
        else:
            return args, kwargs
        self.acted += 1
        return (before, after, *args[2:]), kwargs


TREATMENT = Shift
