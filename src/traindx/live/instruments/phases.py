"""Measures the mode of each model at its updates and in evaluation, and how much it drops.

The mode during training is read at every update (an attribute, no hook). Evaluation is noticed by what begins it:
gradients switched off or `model.eval()`; a sample of calls then shows the model's calls until training goes on.
"""

from __future__ import annotations

import weakref
from collections import Counter, deque
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import torch

from traindx.live.events.hub import Hub
from traindx.live.events.instrument import Criterion, Observer, on_deep_steps_and_evaluation
from traindx.live.events.numbered import numbered
from traindx.live.measures.low_rank import pairs_in
from traindx.live.measures.rows import watchable
from traindx.live.measures.tensors import first_input, wants_gradients, weight_of
from traindx.measurements import EvaluationModes, StrongestDropout, UpdateModes

_DROPOUT = torch.nn.modules.dropout._DropoutNd
_BATCHNORM = torch.nn.modules.batchnorm._BatchNorm
_RECURRENT = (torch.nn.RNNBase, torch.nn.RNNCellBase)
MANY = 3  # calls of one layer in a step: a loop over time, or several passes
MODELS = 8  # watched at a time
TRAINED_SHARE = 0.5  # of the weights: a frozen backbone in eval mode under a new head is good practice
RARE = (
    3  # updates between two evaluations at least; calls on batches of the same shape that come more often are metrics
)
BREAKS = 16  # between updates that are remembered
FIRST_BREAKS = 3  # evaluations that are not yet taken for a habit, as they may come after every update
FIRST_IN_EVAL = 8  # updates in eval mode that are written down at once
GROWTH = 0.1  # of the updates of a model so far, until its mode at updates is written down again


class _Watched:
    """What is known of one model: the layers that act differently in training and evaluation."""

    def __init__(self, model: torch.nn.Module, name: str) -> None:
        self._model = weakref.ref(model)
        self.name = name
        self.dropout = max((float(m.p) for m in model.modules() if isinstance(m, _DROPOUT)), default=0.0)
        self.dropouts = [weakref.ref(m) for m in model.modules() if isinstance(m, _DROPOUT) and m.p > 0]
        self.batchnorms = [
            weakref.ref(m) for m in model.modules() if isinstance(m, _BATCHNORM) and m.track_running_stats
        ]
        self.trained: bool | None = None
        self._trainers: dict[int, tuple[weakref.ref[torch.optim.Optimizer], bool]] = {}
        self.updates = self.in_eval = self.first_in_eval = self.next_measure = 0
        self.gap_calls = 0  # evaluation calls in train mode since the last update
        self.gap = self.gap_before = 0  # updates before the last two breaks with calls in train mode
        self.right_calls = self.wrong_calls = self.breaks = self.most_with_loss = (
            0  # evaluation calls in eval mode, in train mode
        )

    @property
    def model(self) -> torch.nn.Module | None:
        """None once the user has let go of it."""
        return self._model()

    def trained_by(self, optimizer: torch.optim.Optimizer) -> bool:
        """Whether this optimiser updates most of its weights: one that was trained before may rest under a new head."""
        known = self._trainers.get(id(optimizer))
        if known is None or known[0]() is not optimizer:
            model = self.model
            known = weakref.ref(optimizer), model is not None and _trains(optimizer, model)
            self._trainers[id(optimizer)] = known
        return known[1]

    def acts_as_training(self) -> bool:
        layers: list[torch.nn.Module | None] = [held() for held in self.dropouts]
        layers += [held() for held in self.batchnorms]
        return any(layer is not None and layer.training for layer in layers)


class _Breaks:
    """How often gradients are switched off between two updates. What happens after most of them, such as an accuracy of
    the batch just trained on, is part of the training; what comes on top of it may begin an evaluation."""

    def __init__(self) -> None:
        self.met = 0  # in this break the model was called: at the how-many-th evaluation
        self._step = self._count = 0
        self._before: deque[int] = deque(maxlen=BREAKS)

    def unusual(self, step: int) -> bool:
        if step != self._step:
            if not 0 < self.met <= FIRST_BREAKS:
                self._before.append(self._count)
            self._before.extend([0] * min(step - self._step - 1, BREAKS))
            self._step, self._count, self.met = step, 0, 0
        self._count += 1
        return not self._before or self._count > sorted(self._before)[len(self._before) // 2]


class Phases(Observer):
    def __init__(self, hub: Hub) -> None:
        super().__init__(hub)
        self._watched: dict[int, _Watched] = {}
        self._batch: tuple[int, tuple[int, ...]] | None = None  # what the last training call was given
        self._criterion_in_gap = False
        self._breaks = _Breaks()
        self._layer_calls: Counter[int] = Counter()  # of layers with weights, before the first update
        self._names: Counter[str] = Counter()  # models met so far, by class

    def attach(self) -> None:
        for kind in (torch.no_grad, torch.inference_mode):
            self.hub.patch(kind, "__enter__", self._around_enter)
        self.hub.patch(torch.nn.Module, "train", self._around_train)

    def _around_enter(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def __enter__(context: Any) -> Any:
            if self.hub.between and not self.hub.inside and self._breaks.unusual(self.hub.step):
                self.hub.sample_calls(evaluation=True)
            return original(context)

        return __enter__

    def _around_train(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def train(module: torch.nn.Module, mode: bool = True) -> Any:
            if self.hub.between and not mode and not self.hub.inside:
                self.hub.sample_calls(evaluation=True)
            return original(module, mode)

        return train

    def on_forward(self, model: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> None:
        seen = self._meet(model)
        if seen is None:
            return
        data = first_input(args, kwargs)
        if data is not None and not watchable(data):
            return  # inside a transform: neither a training step nor an evaluation
        given = (data.data_ptr(), tuple(data.shape)) if data is not None else None
        if self.hub.sampling_calls and not self.hub.grad and not self._breaks.met:
            self._breaks.met = self.hub.calls_sampled()
        if self.hub.grad and wants_gradients(output):
            self._batch = given
        elif self.hub.between and not self.hub.grad and seen.trained and (seen.dropouts or seen.batchnorms):
            self._evaluated(seen, given)

    on_sampled_call = on_forward

    def on_module(self, module: torch.nn.Module, name: str, args: tuple[Any, ...], output: Any) -> None:
        weight = weight_of(module)
        if self.hub.step == 0 and isinstance(module, _RECURRENT):
            self._layer_calls[id(module)] += MANY
        elif self.hub.step == 0 and weight is not None and weight.dim() >= 2 and weight.requires_grad:
            self._layer_calls[id(module)] += 1

    @on_deep_steps_and_evaluation
    def on_criterion(self, call: Criterion) -> None:
        if self.hub.between and not self.hub.grad:
            if not self._criterion_in_gap:
                self.hub.sample_calls(evaluation=True)
            self._criterion_in_gap = True

    def on_backward(self, loss: torch.Tensor) -> None:
        for seen in self._watched.values():
            self._close_gap(seen)
        self._criterion_in_gap = False

    def on_updated(self, optimizer: torch.optim.Optimizer) -> None:
        if self.hub.step == 0 and self._layer_calls:
            most = max(self._layer_calls.values())
            self.hub.config(model_layers=len(self._layer_calls), model_recurrent=most >= MANY)
        for seen in self._watched.values():
            now = seen.trained_by(optimizer)
            seen.trained = seen.trained or now or None
            if now and (seen.dropouts or seen.batchnorms):
                self._updated(seen)

    def on_models_freed(self) -> None:
        self.on_end()
        self._watched.clear()

    def on_end(self) -> None:
        for seen in self._watched.values():
            self._close_gap(seen)
            if seen.updates:
                self._measure_updates(seen)

    def _measure_settings(self, model: torch.nn.Module) -> None:
        """What a log's configuration would say of the model: its size and its strongest dropout."""
        layers = [(float(layer.p), name) for name, layer in model.named_modules() if isinstance(layer, _DROPOUT)]
        settings: dict[str, Any] = {}
        if layers:
            rate, name = max(layers)
            settings = {"dropout": rate}
            self.hub.measure(StrongestDropout(rate=rate, is_layer=True, where=name or type(model).__name__))
        narrowest = _narrowest(model)
        if narrowest:
            settings["model_narrowest"] = narrowest
        weights = list(model.parameters())
        if weights:
            settings["device"] = weights[0].device.type
        self.hub.config(model_parameters=sum(weight.numel() for weight in weights), **settings)

    def _meet(self, model: torch.nn.Module) -> _Watched | None:
        seen = self._watched.get(id(model))
        if seen is not None and seen.model is not model:
            del self._watched[id(model)]  # of one that is gone
            seen = None
        if seen is None and len(self._watched) < MODELS:
            whole = not self._is_part(model)
            seen = self._watched[id(model)] = _Watched(model, numbered(model, self._names))
            if whole:
                self._measure_settings(model)
        return seen

    def _is_part(self, model: torch.nn.Module) -> bool:
        """Of a model that is known: a block that is run again by itself for its gradient (checkpointing)."""
        others = [one.model for one in self._watched.values()]
        return any(part is model for other in others if other is not None for part in other.modules())

    def _updated(self, seen: _Watched) -> None:
        """One update of a model whose mode matters."""
        model = seen.model
        if model is None:
            return
        seen.updates += 1
        # batch norm alone in eval mode under a model in train mode is a deliberate freeze
        in_eval = not model.training and not seen.acts_as_training()
        if in_eval:
            seen.first_in_eval = seen.first_in_eval or self.hub.step + 1
            seen.in_eval += 1
        if seen.updates >= seen.next_measure or (in_eval and seen.in_eval <= FIRST_IN_EVAL):
            seen.next_measure = seen.updates + 1 + int(GROWTH * seen.updates)
            self._measure_updates(seen)

    def _measure_updates(self, seen: _Watched) -> None:
        self.hub.measure(
            UpdateModes(
                updates=seen.updates,
                in_eval=seen.in_eval,
                first_in_eval=seen.first_in_eval,
                dropouts=len(seen.dropouts),
                batchnorms=len(seen.batchnorms),
                dropout=seen.dropout,
                where=seen.name,
            )
        )

    def _evaluated(self, seen: _Watched, given: tuple[int, tuple[int, ...]] | None) -> None:
        """The model was called with gradients off, between two updates."""
        if not seen.acts_as_training():
            seen.right_calls += 1
            if seen.right_calls == 1:
                self._measure_evaluation(seen)
        elif not self._is_training_batch(seen, given):
            seen.gap_calls += 1

    def _is_training_batch(self, seen: _Watched, given: tuple[int, tuple[int, ...]] | None) -> bool:
        """A metric of the batch just trained on is no evaluation: the same tensor, or one of its shape after every
        update."""
        if seen.gap != self.hub.step:
            seen.gap_before, seen.gap = seen.gap, self.hub.step
        if given is None or self._batch is None:
            return given is None
        return given == self._batch or (given[1] == self._batch[1] and seen.gap - seen.gap_before < RARE)

    def _close_gap(self, seen: _Watched) -> None:
        """Training goes on: what was called in train mode since the last update?"""
        calls, seen.gap_calls = seen.gap_calls, 0
        # without a loss it may have been anything, such as samples drawn from a generator
        if calls and (self._criterion_in_gap or len(self._watched) == 1):
            seen.breaks += 1
            seen.wrong_calls += calls
            if self._criterion_in_gap:
                seen.most_with_loss = max(seen.most_with_loss, calls)
            self._measure_evaluation(seen)

    def _measure_evaluation(self, seen: _Watched) -> None:
        self.hub.measure(
            EvaluationModes(
                in_eval=seen.right_calls,
                in_train=seen.wrong_calls,
                breaks=seen.breaks,
                most_with_loss=seen.most_with_loss,
                dropouts=len(seen.dropouts),
                batchnorms=len(seen.batchnorms),
                where=seen.name,
            )
        )


def _narrowest(model: torch.nn.Module) -> int:
    """The fewest values that a hidden dense or recurrent layer hands on to the next: scores of an attention and heads
    beside each other, which the next layer does not take, are no bottleneck; nor is an adapter, which stands beside a
    layer that hands on all."""
    ends = []
    adapters = {id(one) for pair in pairs_in(model) for one in (pair.first, pair.second)}
    for module in model.modules():
        # not `module.weight`: where that is calculated, a look at it is a step of the user's
        if isinstance(module, torch.nn.Linear) and id(module._parameters.get("weight")) not in adapters:
            ends.append((module.in_features, module.out_features))
        elif isinstance(module, _RECURRENT):
            ends.append((module.input_size, module.hidden_size))
    return min((given for (_, given), (taken, _) in pairwise(ends) if taken == given), default=0)


def _trains(optimizer: torch.optim.Optimizer, model: torch.nn.Module) -> bool:
    """The optimiser updates most of this model's weights."""
    held = {id(p) for group in optimizer.param_groups for p in group["params"]}
    total = mine = 0
    for parameter in model.parameters():
        total += parameter.numel()
        mine += parameter.numel() if id(parameter) in held and parameter.requires_grad else 0
    return mine > TRAINED_SHARE * total


OBSERVER = Phases
