"""Training and evaluating: is the model in the right mode for each, and do both see the same kind of data?

The mode during training is read at every update (an attribute, no hook). Evaluation is noticed by what begins it: gradients
switched off or `model.eval()`; a glance then shows the model's calls until training goes on.
"""

from __future__ import annotations

import weakref
from collections import Counter, deque
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import torch

from traindx.live.findings import Finding, Findings
from traindx.live.hub import Hub
from traindx.live.observer import Criterion, Observer, on_deep_steps_and_evaluation
from traindx.live.rows import watchable
from traindx.live.tensors import first_input, wants_gradients

MOST_DROPPED = 0.8  # a rate nobody means
USUAL_DROPPED = 0.5  # a rate many mean: between the two nothing is said
_DROPOUT = torch.nn.modules.dropout._DropoutNd
_BATCHNORM = torch.nn.modules.batchnorm._BatchNorm
_RECURRENT = (torch.nn.RNNBase, torch.nn.RNNCellBase)
MANY = 3  # calls of one layer in a step: a loop over time, or several passes
EVAL_STEPS = 5  # updates in eval mode before it is called a fault
SURE_STEPS = 30  # updates after which its absence is told
MODELS = 8
SURE = 0.95
TRAINED_SHARE = 0.5  # of the weights: a frozen backbone in eval mode under a new head is good practice
RARE = 3  # updates between two evaluations at least
BREAKS = 16  # between updates that are remembered
GAPS = 2  # breaks between updates in which evaluation in train mode was seen, before it is called a fault


class _Watched:
    """What is known of one model: the layers that act differently in training and evaluation."""

    def __init__(self, model: torch.nn.Module) -> None:
        self._model = weakref.ref(model)
        self.name = type(model).__name__
        self.dropouts = [weakref.ref(m) for m in model.modules() if isinstance(m, _DROPOUT) and m.p > 0]
        self.batchnorms = [
            weakref.ref(m) for m in model.modules() if isinstance(m, _BATCHNORM) and m.track_running_stats
        ]
        self.trained: bool | None = None
        self._trainers: dict[int, tuple[weakref.ref[torch.optim.Optimizer], bool]] = {}
        self.updates = self.eval_updates = 0
        self.first_eval = 0
        self.gap_calls = 0  # evaluation calls in train mode since the last update
        self.gaps = 0
        self.gap = self.gap_before = 0  # updates before the last two breaks with calls in train mode
        self.right_calls = 0  # evaluation calls in eval mode
        self.wrong_calls = 0

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

    @property
    def layers(self) -> str:
        parts = [f"{len(self.dropouts)} dropout"] if self.dropouts else []
        parts += [f"{len(self.batchnorms)} batch-norm"] if self.batchnorms else []
        return f"{' and '.join(parts)} layer{'s' if len(self.dropouts) + len(self.batchnorms) > 1 else ''}"

    def acts_as_training(self) -> bool:
        layers: list[torch.nn.Module | None] = [held() for held in self.dropouts]
        layers += [held() for held in self.batchnorms]
        return any(layer is not None and layer.training for layer in layers)


class _Breaks:
    """How often gradients are switched off between two updates. What happens after most of them, such as an accuracy of the
    batch just trained on, is part of the training; what comes on top of it may begin an evaluation."""

    def __init__(self) -> None:
        self.met = 0  # in this break the model was called: at the how-many-th evaluation
        self._step = self._count = 0
        self._before: deque[int] = deque(maxlen=BREAKS)

    def unusual(self, step: int) -> bool:
        if step != self._step:
            # the first evaluations may come after every update, and are not taken for a habit
            if not 0 < self.met <= GAPS + 1:
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
        self._findings = Findings(hub)

    def attach(self) -> None:
        for kind in (torch.no_grad, torch.inference_mode):
            self.hub.patch(kind, "__enter__", self._around_enter)
        self.hub.patch(torch.nn.Module, "train", self._around_train)

    def _around_enter(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def __enter__(context: Any) -> Any:
            if self.hub.between and not self.hub.inside and self._breaks.unusual(self.hub.step):
                self.hub.glance(evaluation=True)
            return original(context)

        return __enter__

    def _around_train(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def train(module: torch.nn.Module, mode: bool = True) -> Any:
            if self.hub.between and not mode and not self.hub.inside:
                self.hub.glance(evaluation=True)
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
        if self.hub.glancing and not self.hub.grad and not self._breaks.met:
            self._breaks.met = self.hub.glanced()
        if self.hub.grad and wants_gradients(output):
            self._batch = given
        elif self.hub.between and not self.hub.grad and seen.trained and (seen.dropouts or seen.batchnorms):
            self._evaluated(seen, given)

    on_glance = on_forward

    def on_module(self, module: torch.nn.Module, name: str, args: tuple[Any, ...], output: Any) -> None:
        weight = getattr(module, "weight", None)
        if self.hub.step == 0 and isinstance(module, _RECURRENT):
            self._layer_calls[id(module)] += MANY
        elif self.hub.step == 0 and isinstance(weight, torch.Tensor) and weight.dim() >= 2 and weight.requires_grad:
            self._layer_calls[id(module)] += 1

    @on_deep_steps_and_evaluation
    def on_criterion(self, call: Criterion) -> None:
        if self.hub.between and not self.hub.grad:
            if not self._criterion_in_gap:
                self.hub.glance(evaluation=True)
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

    def on_farewell(self) -> None:
        self.on_end()
        self._watched.clear()

    def on_end(self) -> None:
        for seen in self._watched.values():
            self._close_gap(seen)

    def _tell_settings(self, model: torch.nn.Module) -> None:
        """What a log's configuration would say of the model: its size and its strongest dropout."""
        layers = [(float(layer.p), name) for name, layer in model.named_modules() if isinstance(layer, _DROPOUT)]
        settings: dict[str, Any] = {}
        if layers:
            rate, name = max(layers)
            settings = {"dropout": rate}
            text = f"The strongest dropout layer, {name or type(model).__name__}, drops {rate:.0%} of its inputs."
            if not USUAL_DROPPED < rate < MOST_DROPPED:
                self.hub.fact("dropout-drops-most", rate >= MOST_DROPPED, text, where=name or None)
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
            seen = self._watched[id(model)] = _Watched(model)
            self._tell_settings(model)
        return seen

    def _updated(self, seen: _Watched) -> None:
        """One update of a model whose mode matters."""
        model, name = seen.model, seen.name
        if model is None:
            return
        seen.updates += 1
        # batch norm alone in eval mode under a model in train mode is a deliberate freeze
        if not model.training and not seen.acts_as_training():
            seen.first_eval = seen.first_eval or self.hub.step + 1
            seen.eval_updates += 1
            if seen.eval_updates == EVAL_STEPS:
                self._tell(
                    "trained-in-eval-mode", True,
                    f"{name} was in eval mode in {EVAL_STEPS} of {seen.updates} updates (first in update {seen.first_eval}): its "
                    f"{seen.layers} did not act as in training.", name,
                )  # fmt: skip
        elif seen.updates == SURE_STEPS and not seen.eval_updates:
            self._tell(
                "trained-in-eval-mode", False, f"{name} was in train mode in its first {SURE_STEPS} updates.", name
            )

    def _evaluated(self, seen: _Watched, given: tuple[int, tuple[int, ...]] | None) -> None:
        """The model was called with gradients off, between two updates."""
        if not seen.acts_as_training():
            seen.right_calls += 1
            if seen.right_calls == 1:
                self._tell(
                    "evaluated-in-train-mode", False, f"{seen.name} was in eval mode when it was evaluated.", seen.name
                )
        elif not self._is_training_batch(seen, given):
            seen.gap_calls += 1

    def _is_training_batch(self, seen: _Watched, given: tuple[int, tuple[int, ...]] | None) -> bool:
        """A metric of the batch just trained on is no evaluation: the same tensor, or one of its shape after every update."""
        if seen.gap != self.hub.step:
            seen.gap_before, seen.gap = seen.gap, self.hub.step
        if given is None or self._batch is None:
            return given is None
        return given == self._batch or (given[1] == self._batch[1] and seen.gap - seen.gap_before < RARE)

    def _close_gap(self, seen: _Watched) -> None:
        """Training goes on: was that an evaluation in train mode?"""
        calls, seen.gap_calls = seen.gap_calls, 0
        # without a loss it may have been anything, such as samples drawn from a generator
        if not calls or seen.right_calls or not (self._criterion_in_gap or len(self._watched) == 1):
            return
        seen.gaps += 1
        seen.wrong_calls += calls
        if (calls >= GAPS and self._criterion_in_gap) or seen.gaps >= GAPS:
            self._tell(
                "evaluated-in-train-mode", True,
                f"{seen.name} was called {seen.wrong_calls} times with gradients off and in train mode: its {seen.layers} acted as in "
                "training.", seen.name,
            )  # fmt: skip

    def _tell(self, identifier: str, present: bool, evidence: str, where: str) -> None:
        self._findings.add(Finding(identifier, present, evidence, SURE), where)


def _narrowest(model: torch.nn.Module) -> int:
    """The fewest values that a hidden dense or recurrent layer hands on to the next: scores of an attention and heads beside each
    other, which the next layer does not take, are no bottleneck."""
    ends = []
    for module in model.modules():
        if isinstance(module, torch.nn.Linear):
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
