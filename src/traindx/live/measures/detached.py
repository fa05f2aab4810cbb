"""Layers whose values the output of a model depends on while no gradient leads back to them: between the two something
is cut off. The model is called again with the values of such layers changed, and everything the calls may change is put
back."""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import Any

import torch
from torch.nn.modules import module as torch_module

from traindx.live.measures.again import each, untouched
from traindx.live.measures.graph import graph_of
from traindx.live.measures.rows import watchable
from traindx.live.measures.tensors import tensors_in

MAX_LAYERS = 6  # that are tried one by one
NOISE = 100.0  # times what two equal calls differ by: the largest of many differences


def used_layers(
    model: torch.nn.Module, args: Any, kwargs: Any, output: Any, silent: Container[int]
) -> list[torch.nn.Module]:
    """The layers that hold silent parameters, by their ids, and that outputs depend on whose graph leads to none of
    them. An output of their own, that the loss does not use, leads to them."""
    layers = [one for one in model.modules() if any(id(p) in silent for p in one._parameters.values() if p is not None)]
    outputs = [one for one in tensors_in(output) if one.is_floating_point()]
    apart = [place for place, one in enumerate(outputs) if one.requires_grad and _leads_elsewhere(one, silent)]
    if not layers or not apart or not all(map(watchable, outputs)):
        return []
    found: list[torch.nn.Module] = []
    with untouched(model):
        trial = _Trial(model, args, kwargs, apart)
        if trial.change(layers):
            found = [one for one in layers[:MAX_LAYERS] if trial.change([one])]
    return found


def _leads_elsewhere(output: torch.Tensor, silent: Container[int]) -> bool:
    graph = graph_of(output)
    return graph.whole and bool(graph.leaves) and not any(id(leaf) in silent for leaf in graph.leaves)


class _Trial:
    """Calls of one model with equal arguments and random numbers."""

    def __init__(self, model: torch.nn.Module, args: Any, kwargs: Any, places: Sequence[int]) -> None:
        self._call = model, args, kwargs
        self._places = places
        self._random = torch.get_rng_state()
        self._plain = self._outputs()
        self._noise = _distance(self._plain, self._outputs())

    def change(self, layers: Sequence[torch.nn.Module]) -> bool:
        """Whether the outputs change with the values of these layers."""

        def moved(module: torch.nn.Module, inputs: Any, output: Any) -> Any:
            return _moved(output) if any(module is one for one in layers) else None

        handle = torch_module.register_module_forward_hook(moved)
        try:
            return _distance(self._plain, self._outputs()) > self._noise * NOISE
        finally:
            handle.remove()

    def _outputs(self) -> list[torch.Tensor]:
        model, args, kwargs = self._call
        torch.set_rng_state(self._random)
        found = [one for one in tensors_in(model(*args, **kwargs)) if one.is_floating_point()]
        return [found[place].detach().clone() for place in self._places]


def _moved(value: Any) -> Any:
    """Values of a layer, changed by their own size and differently along their last dimension, so that neither a
    softmax nor a normalisation takes it back."""
    if isinstance(value, torch.Tensor):
        if not value.is_floating_point() or not value.dim():
            return value
        size = value.abs().mean()
        slope = torch.linspace(-1, 1, value.shape[-1], dtype=value.dtype, device=value.device)
        return value + torch.where(size > 0, size, torch.ones_like(size)) * (slope if len(slope) > 1 else 1.0)
    return each(value, _moved)


def _distance(some: Sequence[torch.Tensor], others: Sequence[torch.Tensor]) -> float:
    """The largest difference by the size of the values; 0 where it is not a number."""
    found = [float((one - other).abs().amax() / one.abs().amax()) for one, other in zip(some, others, strict=True)]
    return max((one for one in found if one > 0), default=0.0)
