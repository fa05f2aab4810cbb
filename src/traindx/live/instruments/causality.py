"""Measures how much the outputs of a language model depend on tokens behind their place.

Where the targets are the inputs shifted by one place, no output may depend on later tokens. That is tried once: the
model is called again with another last token, without gradients, and everything the call could have changed (the random
states, the buffers, the modes, the attributes of the modules) is put back, so that the training goes on bit for bit as
if nothing had happened.
"""

from __future__ import annotations

import math
import weakref
from typing import Any, NamedTuple

import torch

from traindx.live.events.hub import Hub
from traindx.live.events.instrument import Criterion, Observer, on_deep_steps
from traindx.live.measures.again import each, exchanged, states_of, untouched
from traindx.live.measures.rows import watchable
from traindx.live.measures.tensors import first_input
from traindx.measurements import FutureDependence

MIN_UPDATES = 2  # before the trial: a last layer that starts at zero hides what reaches it
MIN_NEXT_TOKENS = 0.5  # of the targets that are the next input: a model of another task is not called again
MIN_TOKENS = 4
MAX_ROWS = 2  # samples that are tried
TRIAL_SECONDS = 0.5  # that the calls may take on a GPU; 0.1 to 0.9 were seen for GPT-2 on an H200
MAX_TOKENS = 1 << 16  # in a batch, so that the three calls stay cheap


class _Call(NamedTuple):
    """A call of the model in training."""

    model: weakref.ref[torch.nn.Module]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    tokens: torch.Tensor
    half: torch.autocast  # that it was made under

    @property
    def dear(self) -> bool:
        """To make it again with fewer samples: a GPU takes up to a second for operations of a size that is new to
        it."""
        return not self.tokens.is_cpu


class Causality(Observer):
    def __init__(self, hub: Hub) -> None:
        super().__init__(hub)
        self._targets: list[torch.Tensor] = []
        self._call: _Call | None = None
        self._next_tokens = 0.0  # share of the targets that are the next input
        self._waiting: _Call | None = None  # to be tried when there is room for it
        self._done = False

    @on_deep_steps
    def on_criterion(self, call: Criterion) -> None:
        # a model that computes its own loss calls the criterion before its forward ends
        if not self._done and self.hub.deep and self.hub.grad and call.name in ("cross_entropy", "nll_loss"):
            self._targets.append(call.target)

    def on_forward(self, model: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> None:
        if self._done or not self.hub.grad or isinstance(model, torch.nn.parallel.DistributedDataParallel):
            return
        tokens = first_input(args, kwargs)
        whole = (
            tokens is not None
            and tokens.dim() == 2
            and tokens.dtype in (torch.int64, torch.int32)
            and watchable(tokens)
        )
        if tokens is not None and whole and tokens.shape[1] >= MIN_TOKENS and tokens.numel() <= MAX_TOKENS:
            kind = tokens.device.type
            half = torch.autocast(kind, torch.get_autocast_dtype(kind), torch.is_autocast_enabled(kind))
            self._call = _Call(weakref.ref(getattr(model, "_orig_mod", model)), args, kwargs, tokens, half)

    @on_deep_steps
    def on_updated(self, optimizer: torch.optim.Optimizer) -> None:
        call, targets = self._call, self._targets
        self._call, self._targets = None, []
        if self._done or self.hub.step < MIN_UPDATES:
            return
        if torch.distributed.is_available() and torch.distributed.is_initialized():
            self._done = True  # one rank must not call a model that others wait for
        elif self._waiting is not None:
            self._try(self._waiting, last=False)
        elif call is not None:
            self._next_tokens = max((next_tokens(call.tokens.cpu(), target.cpu()) for target in targets), default=0.0)
            self._done = self._next_tokens < MIN_NEXT_TOKENS
            if not self._done:
                self._try(call, last=False)

    def _try(self, call: _Call, *, last: bool) -> None:
        if call.dear and not last and self.hub.room < TRIAL_SECONDS:
            self._waiting = call
            return
        self._done, self._waiting = True, None
        model = call.model()
        if model is not None:
            with call.half:  # as it was called: the GPU knows those operations already
                tried = _exchange_last_token(model, call.args, call.kwargs, call.tokens)
            if tried is not None:
                change, noise = tried
                self.hub.measure(
                    FutureDependence(
                        change=change,
                        noise=noise,
                        places=call.tokens.shape[1],
                        next_tokens=self._next_tokens,
                        where=type(model).__name__,
                    )
                )

    def on_models_freed(self) -> None:
        self._waiting = None

    def on_end(self) -> None:
        asked_for = self.hub.stop_after is not None and self.hub.step >= self.hub.stop_after
        if self._waiting is not None and (asked_for or not self.hub.cut_short):
            self._try(self._waiting, last=True)


def next_tokens(tokens: torch.Tensor, target: torch.Tensor) -> float:
    """The share of the targets that are the tokens one place ahead; 0 where they have another shape."""
    if target.is_floating_point():
        return 0.0
    rows, length = tokens.shape
    if target.numel() == rows * length:
        ahead = target.reshape(rows, length)[:, :-1]
    elif target.numel() == rows * (length - 1):
        ahead = target.reshape(rows, length - 1)
    else:
        return 0.0
    counted = ahead >= 0
    same = (ahead == tokens[:, 1:]) & counted
    moved = bool((tokens[:, 1:] != tokens[:, :-1]).any())  # of equal tokens nothing is ahead
    return float(same.sum() / counted.sum()) if moved and bool(counted.any()) else 0.0


def _exchange_last_token(
    model: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], tokens: torch.Tensor
) -> tuple[float, float] | None:
    """How much the earlier outputs change with the last token, and between two equal calls, by the largest of them;
    None where it cannot be tried."""
    rows = tokens.shape[0]
    args, kwargs, tokens = (_few(value, rows) for value in (args, kwargs, tokens))
    other = tokens.clone()
    last = tokens[:, -1]
    # any other token of the batch is a valid one
    other[:, -1] = torch.where(last == tokens[:, 0], tokens[:, 1:].amax(1), tokens[:, 0])
    different = (other != tokens).any(1)
    if not bool(different.any()):
        return None
    outputs: list[torch.Tensor | None] = []
    with untouched(model):
        outputs = [
            states_of(model, exchanged(args, tokens, new), exchanged(kwargs, tokens, new), tokens)
            for new in (tokens, tokens, other)
        ]
    seen = [output[different][:, :-1].float() for output in outputs if output is not None]
    if len(seen) < 3:
        return None
    first, again, changed = seen
    size = float(first.abs().amax())
    noise = float((first - again).abs().amax())
    change = float((first - changed).abs().amax())
    if not size or not all(map(math.isfinite, (size, noise, change))):
        return None
    return change / size, noise / size


def _few(value: Any, rows: int) -> Any:
    """The same arguments with the first samples of the batch only."""
    if isinstance(value, torch.Tensor):
        return value[:MAX_ROWS] if value.dim() and value.shape[0] == rows else value
    return each(value, lambda member: _few(member, rows))


OBSERVER = Causality
