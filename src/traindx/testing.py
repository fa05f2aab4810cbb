"""Assertions for tests of one's own model: it can learn, gradients reach everything, nothing leaks.

With pytest they are also there as fixtures of the same names (`traindx.pytest_plugin`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

import torch

from traindx.errors import TraindxError
from traindx.probes.given import subject_of
from traindx.probes.python import Probing, probe
from traindx.probes.subject import Subject
from traindx.reading import Reading
from traindx.reporters.wording import leading, percent, title_of
from traindx.symptoms.observed import stated

SECONDS = 20.0
SHOWN = 6  # names in a message
_LEARNS = ("batch-not-learned", "batch-diverges", "batch-barely-moves", "prediction-collapse", "scaling-cures")
_LEAKS = ("samples-mixed", "sees-the-future")
_UPDATE = "an update moves the weights"


def assert_trains(
    model: torch.nn.Module,
    batch: Any,
    loss_fn: Callable[..., torch.Tensor] | None = None,
    optimizer: torch.optim.Optimizer | None = None,
    *,
    validation: Any = None,
    unused: Sequence[str] = (),
    ignore: Sequence[str] = (),
    seconds: float = SECONDS,
) -> Probing:
    """Fail unless the model learns one batch, gradients reach every trained parameter and nothing leaks: no sample
    changes the output of another, no token sees the next, no sample of `validation` is in the batch.

    `batch` is one such as (x, y), a list of them or a DataLoader; `loss_fn(output, target)`, or `loss_fn(model, batch)`
    if its first argument is called `model`. With the `optimizer`, that one must do it too. `unused` are patterns of
    parameters that this loss is not meant to reach, `ignore` ids of symptoms that are accepted. Afterwards model,
    optimiser and random numbers are what they were."""
    __tracebackhide__ = True
    probing = _probed(model, batch, loss_fn, optimizer, seconds)
    reading = probing.readings["sanity"]
    problems = _unreached(subject_of(model, batch, loss_fn, optimizer), unused)
    problems += _unlearned(reading, ignore, seconds)
    problems += [
        f"{fact.id}: {fact.evidence}"
        for fact in stated(reading)
        if fact.present and fact.id not in (*_LEARNS, *ignore) and not (fact.id == "no-gradient" and problems)
    ]
    if validation is not None:
        problems += _shared(batch, validation)
    _fail(f"{type(model).__name__} does not train", problems, probing)
    return probing


def assert_overfits(
    model: torch.nn.Module,
    batch: Any,
    loss_fn: Callable[..., torch.Tensor] | None = None,
    optimizer: torch.optim.Optimizer | None = None,
    *,
    ignore: Sequence[str] = (),
    seconds: float = SECONDS,
) -> Probing:
    """Fail unless the model can learn one batch: by the optimiser given, and by Adam in any case."""
    __tracebackhide__ = True
    probing = _probed(model, batch, loss_fn, optimizer, seconds)
    _fail(
        f"{type(model).__name__} does not learn one batch",
        _unlearned(probing.readings["sanity"], ignore, seconds),
        probing,
    )
    return probing


def assert_gradients_reach(
    model: torch.nn.Module, batch: Any, loss_fn: Callable[..., torch.Tensor] | None = None, *,
    unused: Sequence[str] = ()
) -> None:  # fmt: skip
    """Fail unless every trained parameter receives a gradient that is not zero in some batch. `unused` are patterns
    (`aux.*`) of parameters that this loss is not meant to reach."""
    __tracebackhide__ = True
    problems = _unreached(subject_of(model, batch, loss_fn), unused)
    _fail(f"Gradients do not reach all of {type(model).__name__}", problems, None)


def assert_no_leak(train: Any, validation: Any) -> None:
    """Fail if a sample of the validation data is also in the training data. Both are batches, loaders or datasets; a
    sample is its first tensor, compared byte by byte."""
    __tracebackhide__ = True
    _fail("Training data leak into validation", _shared(train, validation), None)


def _probed(model: Any, batch: Any, loss_fn: Any, optimizer: Any, seconds: float) -> Probing:
    __tracebackhide__ = True
    try:
        return probe(model, batch, loss_fn, optimizer, probes=["sanity"], seconds=seconds)
    except TraindxError as error:
        raise AssertionError(f"The model cannot be tested: {error}") from error


def _unlearned(reading: Reading, ignore: Sequence[str], seconds: float) -> list[str]:
    """What speaks against learning. That a batch is learned must be shown: what was not measured is no pass."""
    facts = {fact.id: fact for fact in stated(reading) if fact.id in _LEARNS}
    problems = [f"{name}: {fact.evidence}" for name, fact in facts.items() if fact.present and name not in ignore]
    learned = facts.get("batch-not-learned")
    if learned is None and not problems and "batch-not-learned" not in ignore:
        problems.append(f"batch-not-learned: one batch is not learned well within {seconds:.0f} s. {reading.summary}")
    rows = {str(row[0]): row for table in reading.tables for row in table.rows}
    if _UPDATE in rows and rows[_UPDATE][1] == "problem":
        problems.append(f"{_UPDATE}: {rows[_UPDATE][2]}")
    return problems


def _unreached(subject: Subject, unused: Sequence[str]) -> list[str]:
    largest: dict[str, float] = {}
    missing: set[str] = set()
    for step in subject.steps:
        for name, gradient in subject.gradients(step).items():
            if gradient is None:
                missing.add(name)
            else:
                largest[name] = max(largest.get(name, 0.0), float(gradient.abs().amax()) if gradient.numel() else 0.0)
    asked = missing | set(largest)
    expected = [
        name for name in subject.parameters() if name in asked and not any(fnmatchcase(name, p) for p in unused)
    ]
    none = [name for name in expected if name not in largest]
    zero = [name for name in expected if largest.get(name) == 0.0]
    problems = []
    if none:
        problems.append(f"no gradient reaches {_listed(none)} ({len(none)} of {len(expected)} trained tensors)")
    if zero:
        problems.append(f"the gradient is zero in {_listed(zero)} ({len(zero)} of {len(expected)} trained tensors)")
    return problems


def _shared(train: Any, validation: Any) -> list[str]:
    seen = set(_prints(train))
    checked = list(_prints(validation))
    both = sum(sample in seen for sample in checked)
    if not checked or not seen:
        return ["there is nothing to compare: training or validation holds no sample"]
    return [f"{both} of {len(checked)} validation samples are in the training data"] if both else []


def _prints(data: Any) -> Iterable[bytes]:
    """A fingerprint of every sample's input."""
    if isinstance(data, torch.utils.data.Dataset):
        for index in range(len(data)):  # type: ignore[arg-type]
            yield _print(_first(data[index]))
        return
    whole = isinstance(data, torch.Tensor | Mapping) or (
        isinstance(data, list | tuple) and bool(data) and isinstance(data[0], torch.Tensor)
    )
    for batch in [data] if whole else data:
        inputs = _first(batch)
        for sample in inputs if inputs.dim() else inputs[None]:
            yield _print(sample)


def _first(batch: Any) -> torch.Tensor:
    """The first tensor of a batch or sample: its input."""
    if isinstance(batch, torch.Tensor):
        return batch
    members = batch.values() if isinstance(batch, Mapping) else batch if isinstance(batch, list | tuple) else ()
    found = next((tensor for member in members if (tensor := _first_or_none(member)) is not None), None)
    if found is None:
        raise AssertionError(f"There is no tensor in {type(batch).__name__}: give batches such as (x, y).")
    return found


def _first_or_none(member: Any) -> torch.Tensor | None:
    if isinstance(member, list | tuple | Mapping):
        return _first(member)
    return member if isinstance(member, torch.Tensor) else None


def _print(sample: torch.Tensor) -> bytes:
    plain = sample.detach().cpu().contiguous()
    data = plain.reshape(-1).view(torch.uint8).numpy().tobytes() if plain.numel() else b""
    return hashlib.blake2b(data, digest_size=16, person=str(tuple(plain.shape)).encode()[:16]).digest()


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:SHOWN]) + (f" and {len(names) - SHOWN} more" if len(names) > SHOWN else "")


def _fail(title: str, problems: Sequence[str], probing: Probing | None) -> None:
    __tracebackhide__ = True
    if not problems:
        return
    lines = [f"{title}:", *(f"  - {problem}" for problem in problems)]
    first = None if probing is None else leading(probing.diagnosis)
    if first is not None:
        lines.append(f"Most likely {percent(first.confidence)}: {title_of(first)}. See: traindx explain {first.cause}")
        if first.fix is not None:
            lines.append(f"Fix: {first.fix.title} ({first.fix.id})")
    raise AssertionError("\n".join(lines))
