"""What is probed: models, their optimiser, and a few training steps whose loss can be computed again, as the user
computes it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

import torch

from traindx.live.events.naming import plain
from traindx.probes.state import State

Swap = Callable[[torch.Tensor], torch.Tensor]


@dataclass(frozen=True)
class Outcome:
    """A loss, and what the models put out on the way to it: the first floating tensor of each call of a whole model."""

    loss: torch.Tensor
    outputs: tuple[torch.Tensor, ...]


class Part(ABC):
    """One computation of a loss, from data to the tensor that `backward` was called on. `data` are the tensors that go
    into models, `targets` those that only the loss sees."""

    data: tuple[torch.Tensor, ...]
    targets: tuple[torch.Tensor, ...]

    @abstractmethod
    def run(self, swap: Swap | None, same_noise: bool, targets: Swap | None = None) -> Outcome:
        """Compute it again with the models as they are now, their modes included; `swap` exchanges data, `targets`
        targets."""


@dataclass(frozen=True)
class Step:
    """What one update rests on: one part, or several where gradients are accumulated. Their losses add up."""

    parts: tuple[Part, ...]
    index: int = 0

    @property
    def data(self) -> tuple[torch.Tensor, ...]:
        return tuple(tensor for part in self.parts for tensor in part.data)

    @property
    def targets(self) -> tuple[torch.Tensor, ...]:
        return tuple(tensor for part in self.parts for tensor in part.targets)

    @property
    def size(self) -> int:
        """How many samples: the first dimension of the data."""
        return sum(part.data[0].shape[0] if part.data and part.data[0].dim() else 1 for part in self.parts)


@dataclass(frozen=True)
class Clip:
    """How the script limits gradients between backward and update."""

    limit: float
    by: Literal["norm", "value"] = "norm"
    norm_type: float = 2.0

    def __call__(self, tensors: Sequence[torch.Tensor]) -> None:
        if self.by == "norm":
            torch.nn.utils.clip_grad_norm_(tensors, self.limit, self.norm_type)
        else:
            torch.nn.utils.clip_grad_value_(tensors, self.limit)


@dataclass(frozen=True)
class Pace:
    """How fast the script itself runs: seconds of some updates, those of them that data was waited for, and the places
    where it reads numbers out of what was computed, with how often in a step."""

    seconds: tuple[float, ...]
    waiting: tuple[float, ...]
    reads: tuple[tuple[str, float], ...] = ()


@dataclass
class Subject:
    """Probes call `loss`, `gradients` and `outcome`, set modes with `mode`, and may train with `optimizer` or one of
    `fresh_optimizer`. The runner keeps all of it inside `undisturbed`."""

    models: tuple[torch.nn.Module, ...]
    steps: tuple[Step, ...]
    optimizer: torch.optim.Optimizer | None = None
    step: int = 0  # updates the training had made before the state that is probed
    source: str = "model"
    clip: Clip | None = None
    loader: Any = None  # the DataLoader that the data came from, where one was seen
    held_out: tuple[Step, ...] = ()  # steps of an evaluation, as far as one was seen
    held_out_loaders: tuple[Any, ...] = ()  # loaders of other data than the training's
    pace: Pace | None = None
    loss_name: str | None = None  # 'cross_entropy', … where the loss is one of torch's own
    classes: int | None = None
    partial: bool = False  # one side of several optimisers, as in adversarial training
    notes: tuple[str, ...] = ()  # what could not be captured, one sentence each
    extra: tuple[torch.Tensor, ...] = ()  # trained tensors that belong to no model
    optimizers: tuple[torch.optim.Optimizer, ...] = ()  # all that must be put back, others' too

    # --- what there is ------------------------------------------------------------------------------------------------

    @property
    def device(self) -> torch.device:
        return next((tensor.device for tensor in self.parameters().values()), torch.device("cpu"))

    def parameters(self) -> dict[str, torch.Tensor]:
        """What is trained, by name: the optimiser's tensors, without one every parameter that wants a gradient. Shared
        ones once, in the order of the models' definition."""
        named = {id(p): (plain(name), p) for name, p in self._named_parameters()}
        if self.optimizer is None:
            found = [(name, p) for name, p in named.values() if p.requires_grad] + self._unnamed(self.extra, named)
        else:
            optimized = {id(p): p for group in self.optimizer.param_groups for p in group["params"]}
            found = [(name, p) for key, (name, p) in named.items() if key in optimized]
            found += self._unnamed(optimized.values(), named)
        return dict(found)

    def all_parameters(self) -> dict[str, torch.Tensor]:
        """Every parameter of the models, frozen or not optimised ones too."""
        return {plain(name): p for name, p in self._named_parameters()}

    def layers(self) -> dict[str, torch.nn.Module]:
        """Every module by its name, without those that only wrap (data parallel, torch.compile)."""
        found: dict[str, torch.nn.Module] = {}
        for number, model in enumerate(self.models):
            prefix = f"{type(model).__name__}." if number else ""
            for name, module in model.named_modules():
                found.setdefault(prefix + plain(name) if name else prefix + type(model).__name__, module)
        return found

    def _named_parameters(self) -> Iterator[tuple[str, torch.nn.Parameter]]:
        seen: set[int] = set()
        for number, model in enumerate(self.models):
            prefix = f"{type(model).__name__}." if number else ""
            for name, parameter in model.named_parameters():
                if id(parameter) not in seen:
                    seen.add(id(parameter))
                    yield prefix + name, parameter

    @staticmethod
    def _unnamed(tensors: Any, named: dict[int, Any]) -> list[tuple[str, torch.Tensor]]:
        return [(f"tensor{number}", t) for number, t in enumerate(t for t in tensors if id(t) not in named)]

    # --- what probes do -----------------------------------------------------------------------------------------------

    def outcome(
        self, step: Step | int = 0, swap: Swap | None = None, *, same_noise: bool = True, targets: Swap | None = None
    ) -> Outcome:
        """Loss and model outputs of a step. `swap` exchanges the data tensors, `targets` those only the loss sees;
        `same_noise` draws dropout and other random numbers as the captured step did, so that two calls differ by what
        was changed and nothing else."""
        chosen = self.steps[step] if isinstance(step, int) else step
        outcomes = [part.run(swap, same_noise, targets) for part in chosen.parts]
        if len(outcomes) == 1:
            return outcomes[0]
        losses = [outcome.loss for outcome in outcomes]
        return Outcome(sum(losses[1:], losses[0]), tuple(o for outcome in outcomes for o in outcome.outputs))

    def loss(
        self, step: Step | int = 0, swap: Swap | None = None, *, same_noise: bool = True, targets: Swap | None = None
    ) -> torch.Tensor:
        """The user's loss on a step, as a scalar with its graph."""
        return self.outcome(step, swap, same_noise=same_noise, targets=targets).loss

    def gradients(self, step: Step | int = 0, *, same_noise: bool = True) -> dict[str, torch.Tensor | None]:
        """The gradient of every trained tensor by name; None where the loss does not reach it. `.grad` is left
        alone."""
        wanted = {name: p for name, p in self.parameters().items() if p.requires_grad}
        loss = self.loss(step, same_noise=same_noise)
        if not loss.requires_grad:
            return dict.fromkeys(wanted)
        found = torch.autograd.grad(loss, list(wanted.values()), allow_unused=True)
        return dict(zip(wanted, found, strict=True))

    def update(
        self, step: Step | int, optimizer: torch.optim.Optimizer, *, swap: Swap | None = None, same_noise: bool = False,
        targets: Swap | None = None,
    ) -> torch.Tensor:  # fmt: skip
        """One training step, gradients clipped as the script does; gives the loss before it. Works for LBFGS too."""

        def closure() -> torch.Tensor:
            optimizer.zero_grad(set_to_none=True)
            loss = self.loss(step, swap, same_noise=same_noise, targets=targets)
            loss.backward()  # type: ignore[no-untyped-call]
            if self.clip is not None:
                self.clip([p for group in optimizer.param_groups for p in group["params"] if p.grad is not None])
            return loss.detach()

        if isinstance(optimizer, torch.optim.LBFGS):
            return torch.as_tensor(optimizer.step(closure))  # type: ignore[no-untyped-call]
        loss = closure()
        optimizer.step()
        return loss

    def fresh_optimizer(self, kind: type[torch.optim.Optimizer] | None = None, **options: Any) -> torch.optim.Optimizer:
        """A new optimiser over the trained tensors: of another kind, or the user's own kind, groups and settings
        without its state. `options` (lr=…) replace the settings of all groups."""
        if kind is not None or self.optimizer is None:
            trained = [p for p in self.parameters().values() if p.requires_grad]
            return (kind or torch.optim.Adam)(trained, **options)
        groups = [{**group, "params": list(group["params"]), **options} for group in self.optimizer.param_groups]
        fresh = object.__new__(type(self.optimizer))
        fresh.__dict__.update({key: v for key, v in self.optimizer.__dict__.items() if key not in ("state", "step")})
        fresh.state = type(self.optimizer.state)(*_factory(self.optimizer.state))
        fresh.param_groups = groups
        return fresh

    def extra_state(self) -> State:
        """A picture of the subject as it is now, to come back to with `restore()` within one probe."""
        return State(self.models, self._all_optimizers(), self.extra)

    @contextmanager
    def mode(self, training: bool) -> Iterator[None]:
        """All modules in training or evaluation mode; each one's own mode afterwards."""
        modules = [(module, module.training) for model in self.models for module in model.modules()]
        try:
            for module, _ in modules:
                module.training = training
            yield
        finally:
            for module, was in modules:
                module.training = was

    @contextmanager
    def undisturbed(self) -> Iterator[None]:
        """Whatever happens inside, afterwards everything is bit for bit as it was. Gradients start out as None."""
        state = State(self.models, self._all_optimizers(), self.extra)
        for tensor in (*self.all_parameters().values(), *self.parameters().values()):
            tensor.grad = None
        try:
            with torch.enable_grad():
                yield
        finally:
            state.restore()

    def _all_optimizers(self) -> Sequence[torch.optim.Optimizer]:
        return list({id(one): one for one in (*self.optimizers, self.optimizer) if one is not None}.values())


def _factory(mapping: Any) -> tuple[Any, ...]:
    """What a defaultdict is made with."""
    return (mapping.default_factory,) if hasattr(mapping, "default_factory") else ()
