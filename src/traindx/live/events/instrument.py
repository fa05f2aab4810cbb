"""What an observer is. One module an observer in `observers/`; a module that defines OBSERVER is registered by being
there."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar

if TYPE_CHECKING:
    import torch

    from traindx.live.events.hub import Hub
    from traindx.live.events.step_buffer import BufferedStep
    from traindx.live.recording.values import Number


Handler = TypeVar("Handler", bound=Callable[..., None])


def on_every_step(handler: Handler) -> Handler:
    """Mark a handler that misses nothing. Others are not notified of steps like those before while what is always on
    costs more than its share of the budget: where steps take a few milliseconds or less, most are like that."""
    handler.level = "every"  # type: ignore[attr-defined]
    return handler


def on_deep_steps(handler: Handler) -> Handler:
    """Mark a handler that has nothing to do off deep steps: it is not called there, which costs less than to return."""
    handler.level = "deep"  # type: ignore[attr-defined]
    return handler


def on_deep_steps_and_evaluation(handler: Handler) -> Handler:
    """The same for `on_criterion`, which is still notified of losses that no gradient flows through, and for
    `on_backward`, which is still notified of the first one after such a loss or sample of calls."""
    handler.level = "evaluation"  # type: ignore[attr-defined]
    return handler


class Criterion:
    """One call of a loss function of torch.nn.functional."""

    __slots__ = ("_where", "input", "name", "options", "output", "target")

    def __init__(
        self, name: str, input: torch.Tensor, target: torch.Tensor, options: Mapping[str, Any], output: torch.Tensor,
        where: str | Callable[[], str],
    ) -> None:  # fmt: skip
        self.name = name  # 'cross_entropy', 'mse_loss', …
        self.input = input
        self.target = target
        self.options = options  # reduction, weight, ignore_index, … as they were given
        self.output = output
        self._where = where

    def end(self) -> None:
        """The call is over and who keeps it keeps no scores: until `backward` has run, those of a language model are
        gigabytes that nobody else holds."""
        self.input = self.input.detach().new_empty(0)

    @property
    def where(self) -> str:
        """file:line of the user's code. Found when first asked for, which must be during the call: most never ask."""
        if not isinstance(self._where, str):
            self._where = self._where()
        return self._where


class StepsAside(Protocol):
    """What must not be there while compiled parts are checked, compiled or run."""

    def step_aside(self) -> None: ...

    def come_back(self) -> None: ...


class Observer:
    """Override what is of interest. Every call is guarded: an exception ends this observer, not the training. Nothing
    here may change a tensor, use torch's random numbers or synchronise a device, except where `hub.deep` says that this
    is one of the rare steps whose cost is budgeted."""

    def __init__(self, hub: Hub) -> None:
        self.hub = hub

    @property
    def buffered(self) -> bool:
        """What it hears at every step may be reported by `on_steps` instead."""
        return False

    def attach(self) -> None:
        """Install patches of one's own with `hub.patch`."""

    def on_batch(self, batch: Any, loader: Any, seconds: float) -> None:
        """A DataLoader handed out a batch after waiting `seconds` for it."""

    def on_forward(self, model: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> None:
        """A whole model was called (deep steps only). `hub.grad` and `model.training` tell the phase."""

    def on_sampled_call(
        self, model: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any
    ) -> None:
        """A whole model was called outside a deep step, after an observer asked for it with `hub.sample_calls()`. No
        device may be synchronised here."""

    def on_module(self, module: torch.nn.Module, name: str, args: tuple[Any, ...], output: Any) -> None:
        """A layer was called (deep steps only)."""

    def on_sampled_module(self, module: torch.nn.Module, args: tuple[Any, ...], output: Any) -> None:
        """A layer of `hub.sampled_layers` was called in a sampled call. No device may be synchronised here."""

    def on_criterion(self, call: Criterion) -> None:
        """A loss function was called, in training or under no_grad."""

    def on_backward(self, loss: torch.Tensor) -> None:
        """`backward` is about to run on this loss."""

    def on_gradients(self, loss: torch.Tensor) -> None:
        """`backward` has run."""

    def on_step(self, optimizer: torch.optim.Optimizer) -> None:
        """The optimiser is about to update: the gradients are final."""

    def on_updated(self, optimizer: torch.optim.Optimizer) -> None:
        """The optimiser has updated the weights; `hub.step` is the number of updates before this one."""

    def on_steps(self, steps: Sequence[BufferedStep], losses: Sequence[Number]) -> None:
        """Several updates like those before, with finite losses as far as they are known yet, of one optimiser, and the
        losses since the last of them. Called instead of `on_backward` and `on_updated` where all that hear those every
        step are reported `briefly`."""

    def on_depth(self, deep: bool) -> None:
        """A stretch of deep steps begins or ends. The first one begins before the training does and is not reported."""

    def on_call(self, model: torch.nn.Module) -> None:
        """A whole model is about to be called (deep steps only)."""

    def on_models_freed(self) -> None:
        """The models trained so far have been let go of: the last moment to look at weights, which are freed when
        nobody here holds them either. Another object may have the id of one of theirs from now on."""

    def on_end(self) -> None:
        """The training process ends (or the recording does)."""


Handlers = tuple[tuple[Observer, Callable[..., None]], ...]


Depth = Literal["deep", "light", "rest"]  # how closely a step is looked at
_REPEATED = (
    "on_batch",
    "on_criterion",
    "on_backward",
    "on_gradients",
    "on_step",
    "on_updated",
)  # the events of every step


def all_buffered(level: Mapping[str, Handlers]) -> bool:
    """Whether none of those who hear of steps needs to hear of them at once."""
    return all(
        one.buffered for event in ("on_step", "on_backward", "on_gradients", "on_updated") for one, _ in level[event]
    )


def handlers_of(observers: Sequence[Observer], depth: Depth) -> dict[str, Handlers]:
    """Who hears of what on such steps. An event that an observer does not override, or that it does not want on them,
    is never sent to it. 'on_evaluation' stands for `on_criterion` of a loss without a gradient, 'on_return' for the
    `on_backward` that follows one."""
    wanted: dict[str, Handlers] = {}
    special = {"on_evaluation": "on_criterion", "on_return": "on_backward"}
    for event in (*(name for name in vars(Observer) if name.startswith("on_")), *special):
        name = special.get(event, event)
        level = {"every"}
        if depth != "rest" or event not in _REPEATED:
            level.add("always")
        if depth == "deep" or event in special:
            level.add("evaluation")
        if depth == "deep":
            level.add("deep")
        wanted[event] = tuple(
            (one, getattr(one, name))
            for one in observers
            if getattr(type(one), name) is not getattr(Observer, name)
            and getattr(getattr(type(one), name), "level", "always") in level
        )
    return wanted
