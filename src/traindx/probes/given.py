"""Subjects from Python: a model, data and a loss function, instead of a script that is watched."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from typing import Any

import torch

from traindx.errors import TraindxError
from traindx.live.events.hub import CRITERIA
from traindx.probes.held_out import readable
from traindx.probes.nested import exchange, tensors
from traindx.probes.sharding import needs_other_ranks
from traindx.probes.state import State
from traindx.probes.subject import Outcome, Part, Step, Subject, Swap
from traindx.probes.tape import Unreplayable
from traindx.probes.tracer import Tracer, unwrapped

BATCHES = 8
HELD_OUT = 4
_MODEL_NAMES = (
    "model",
    "net",
    "network",
    "module",
)  # a loss function whose first argument is called so wants the model


class Given(Part):
    """A loss that is computed by calling the user's function again, where its tape could not be cut. All tensors of the
    batch but the last count as data."""

    def __init__(self, compute: Callable[[Any], torch.Tensor], batch: Any) -> None:
        self._compute, self._batch = compute, batch
        found = list(tensors(batch))
        self.data, self.targets = tuple(found[:-1] or found), tuple(found[-1:]) if len(found) > 1 else ()
        self._noise = torch.get_rng_state()

    def run(self, swap: Swap | None = None, same_noise: bool = True, targets: Swap | None = None) -> Outcome:
        if same_noise:
            torch.set_rng_state(self._noise)
        changes = {**{id(t): swap for t in self.data}, **{id(t): targets for t in self.targets}}

        def change(tensor: torch.Tensor) -> torch.Tensor:
            how = changes.get(id(tensor))
            return tensor if how is None else how(tensor)

        batch = exchange(self._batch, change)
        return Outcome(self._compute(batch), ())


def subject_of(
    model: torch.nn.Module,
    batch_or_loader: Any,
    loss_fn: Callable[..., torch.Tensor] | None = None,
    optimizer: torch.optim.Optimizer | None = None,
    validation: Any = None,
) -> Subject:
    """`loss_fn(output, target)`, or `loss_fn(model, batch)` if its first argument is called `model`; None where the
    model's output has a `loss`. `batch_or_loader`: one batch such as `(x, y)`, a list of batches, or a DataLoader;
    `validation` the same of held-out data."""
    if not isinstance(model, torch.nn.Module):
        raise TraindxError(f"{type(model).__name__} is no torch module.", "Give the model first.")
    if (reason := needs_other_ranks(model)) is not None:
        raise TraindxError(f"This model cannot be probed: {reason}.", "Give the plain module.")
    batches, loader = _batches(batch_or_loader)
    if not batches:
        raise TraindxError("There is no batch in the data.", "Give a batch such as (x, y), or a DataLoader.")
    compute = _computation(unwrapped(model), loss_fn)
    device = next((p.device for p in model.parameters()), torch.device("cpu"))
    state = State([model], [optimizer] if optimizer is not None else [])
    try:
        parts, held_out = (
            [_part(compute, exchange(batch, lambda t: t.to(device))) for batch in some]
            for some in (batches, _batches(validation)[0][:HELD_OUT] if validation is not None else ())
        )
    finally:
        state.restore()
    name = getattr(loss_fn, "__name__", "") or _snake(type(loss_fn).__name__)
    named = {id(p) for p in model.parameters()}
    loose = [
        p
        for group in (optimizer.param_groups if optimizer is not None else ())
        for p in group["params"]
        if id(p) not in named
    ]
    return Subject(
        (unwrapped(model),), _steps(parts), optimizer, source="python", loader=loader, held_out=_steps(held_out),
        held_out_loaders=(validation,) if readable(validation) else (), loss_name=name if name in CRITERIA else None,
        extra=tuple(loose),
    )  # fmt: skip


def _steps(parts: list[Part]) -> tuple[Step, ...]:
    return tuple(Step((part,), index) for index, part in enumerate(parts))


def _batches(given: Any) -> tuple[list[Any], Any]:
    if isinstance(given, torch.Tensor | tuple | Mapping):
        return [given], None
    if isinstance(given, list):
        # DataLoader's own collation gives [x, y] as a list
        return (
            ([given], None)
            if given and all(isinstance(one, torch.Tensor) for one in given)
            else (given[:BATCHES], None)
        )
    if isinstance(given, Iterable):
        return list(islice(iter(given), BATCHES)), given
    return [given], None


def _computation(model: torch.nn.Module, loss_fn: Callable[..., torch.Tensor] | None) -> Callable[[Any], torch.Tensor]:
    if loss_fn is None:
        return lambda batch: _own_loss(model(**batch) if isinstance(batch, Mapping) else model(*_sequence(batch)))
    if _wants_model(loss_fn):
        return lambda batch: loss_fn(model, batch)

    def compute(batch: Any) -> torch.Tensor:
        parts = _sequence(batch)
        if isinstance(batch, Mapping):
            raise TraindxError("A batch with names has no obvious target.", "Give loss_fn(model, batch).")
        if len(parts) < 2:
            raise TraindxError("A batch of one tensor has no target.", "Give (x, y), or loss_fn(model, batch).")
        return loss_fn(model(*parts[:-1]), parts[-1])

    return compute


def _part(compute: Callable[[Any], torch.Tensor], batch: Any) -> Part:
    tracer = Tracer()
    tracer.start()
    try:
        with torch.enable_grad():
            loss = compute(batch)
        if not isinstance(loss, torch.Tensor) or loss.numel() != 1:
            raise TraindxError("The loss function gave no single number.", "Let it return a scalar tensor.")
        tape = tracer.cut(loss)
    except Unreplayable:
        return Given(compute, batch)
    finally:
        tracer.stop()
    with torch.no_grad():
        same = torch.allclose(tape.run(buffers=True).loss, tape.observed, rtol=1e-3, equal_nan=True)
    tape.forget_buffers()
    return tape if same else Given(compute, batch)


def _wants_model(loss_fn: Callable[..., Any]) -> bool:
    if isinstance(loss_fn, torch.nn.Module):
        return False
    try:
        first = next(iter(inspect.signature(loss_fn).parameters.values()), None)
    except (TypeError, ValueError):
        return False
    return first is not None and first.name in _MODEL_NAMES


def _own_loss(output: Any) -> torch.Tensor:
    loss = output.get("loss") if isinstance(output, Mapping) else getattr(output, "loss", output)
    if isinstance(loss, torch.Tensor) and loss.numel() == 1:
        return loss
    raise TraindxError("The model's output has no loss.", "Give a loss function.")


def _sequence(batch: Any) -> tuple[Any, ...]:
    return tuple(batch) if isinstance(batch, tuple | list) else (batch,)


def _snake(name: str) -> str:
    """'CrossEntropyLoss' → 'cross_entropy', 'MSELoss' → 'mse_loss'."""
    spoken = {"CrossEntropyLoss": "cross_entropy", "NLLLoss": "nll_loss", "MSELoss": "mse_loss", "L1Loss": "l1_loss",
              "SmoothL1Loss": "smooth_l1_loss", "HuberLoss": "huber_loss", "BCELoss": "binary_cross_entropy",
              "BCEWithLogitsLoss": "binary_cross_entropy_with_logits"}  # fmt: skip
    return spoken.get(name, name)
