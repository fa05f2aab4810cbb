"""Mask the future in every attention over a sequence."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from traindx.trials.activations import patch_function
from traindx.trials.treatment import Treatment


class Causal(Treatment):
    """An attention is a softmax over the last of two equal dimensions, or torch's own function."""

    def attach(self) -> None:
        patch_function(self.hub, "softmax", self._around_softmax)
        self.hub.patch(torch.nn.functional, "scaled_dot_product_attention", self._around_attention)

    def _around_softmax(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def softmax(input: torch.Tensor, dim: Any = None, *args: Any, **kwargs: Any) -> Any:
            square = input.dim() >= 3 and input.shape[-1] == input.shape[-2] and dim in (-1, input.dim() - 1)
            if square:  # also where the recorder itself asks the model whether it sees the future
                self.acted += 1
                future = torch.ones(input.shape[-2:], dtype=torch.bool, device=input.device).triu(1)
                input = input.masked_fill(future, float("-inf"))
            return original(input, dim, *args, **kwargs)

        return softmax

    def _around_attention(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def attention(query: Any, key: Any, value: Any, attn_mask: Any = None, *args: Any, **kwargs: Any) -> Any:
            if attn_mask is None and query.shape[-2] == key.shape[-2]:
                self.acted += 1
                kwargs["is_causal"] = True
                args = args[:1]
            return original(query, key, value, attn_mask, *args, **kwargs)

        return attention


TREATMENT = Causal
