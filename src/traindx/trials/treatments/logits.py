"""Give each loss what it expects: logits to cross-entropy, log-probabilities to nll_loss."""

from __future__ import annotations

from typing import Any

import torch

from traindx.live.measures.nodes import ending
from traindx.trials.treatment import Treatment

TINY = 1e-7


class Logits(Treatment):
    """A softmax is taken back by a logarithm, a sigmoid by its inverse; raw scores are given the log-softmax they
    lack."""

    def attach(self) -> None:
        self._given: dict[str, str] = {}  # what each loss is given in training: evaluation has no graph to see it
        self.around_criteria(self._change, "cross_entropy", "nll_loss", "binary_cross_entropy_with_logits")

    def _change(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if not args or not isinstance(args[0], torch.Tensor):
            return args, kwargs
        output = args[0]
        if output.grad_fn is not None:
            self._given[name] = ending(output).kind
        given = self._given.get(name, "")
        if name == "cross_entropy" and given == "Softmax":
            output = output.clamp(min=TINY).log()
        elif name == "nll_loss" and given != "LogSoftmax" and output.dim() >= 2:
            output = torch.log_softmax(output.clamp(min=TINY).log() if given == "Softmax" else output, 1)
        elif name == "binary_cross_entropy_with_logits" and given == "Sigmoid":
            output = torch.logit(output, TINY)
        else:
            return args, kwargs
        self.acted += 1
        return (output, *args[1:]), kwargs


TREATMENT = Logits
