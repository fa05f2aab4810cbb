"""Are the targets what the loss takes them for: in range, a distribution, the next token, and not padding?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from traindx.live.criteria import REGRESSION
from traindx.live.findings import Finding, Findings
from traindx.live.hub import Hub
from traindx.live.observer import Criterion, Observer, on_deep_steps
from traindx.live.padding import padding_of
from traindx.live.rows import near, watchable
from traindx.live.tensors import first_input

FIRST_LOOKS = 6  # calls of each place that are looked at on deep steps, and after that
LATER = 16  # every so many
BINARY = ("binary_cross_entropy", "binary_cross_entropy_with_logits")
SIGNED = ("soft_margin_loss", "hinge_embedding_loss")  # want -1 and 1
SEVERAL_LABELS = 1.5  # sum of a target row: label smoothing and mixing of samples keep it at 1
SEVERAL_ROWS = 0.05
LEAST_CODES = 8  # targets with two values: of fewer that says nothing
LEAST_TOKENS = 64
LEAST_ROWS, LEAST_WIDTH, MOST_WIDTH = 16, 3, 1 << 13  # samples of a batch, and numbers of each
VARIED = 0.5  # of the targets are different
SAME = 0.99  # of the targets equal the input tokens at one offset
REPEATING = 0.5  # neighbours that are equal: a text that repeats itself shows no offset
MOST_TOKENS = 1 << 18


class Labels(Observer):
    def __init__(self, hub: Hub) -> None:
        super().__init__(hub)
        self._findings = Findings(hub)
        self._looks: dict[tuple[str, str], int] = {}
        self._tokens: list[
            tuple[torch.Tensor, int]
        ] = []  # what went into embeddings since the last backward, and their size
        self._offsets: dict[str, list[int]] = {}  # by place: offsets at which targets were found among the inputs
        self._given: torch.Tensor | None = None  # to the model, since the last backward
        self._copies: dict[str, list[int]] = {}  # by place: which number of its input each target was

    def on_module(self, module: torch.nn.Module, name: str, args: tuple[Any, ...], output: Any) -> None:
        if not isinstance(module, torch.nn.Embedding) or not self.hub.grad or not args or len(self._tokens) >= 4:
            return
        ids = args[0]
        if isinstance(ids, torch.Tensor) and ids.dim() == 2 and ids.shape[1] > 1:
            self._tokens.append((ids, module.num_embeddings))

    @on_deep_steps
    def on_forward(self, model: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> None:
        data = first_input(args, kwargs)
        if self.hub.grad and data is not None and data.is_floating_point() and not data.requires_grad:
            self._given = data

    @on_deep_steps
    def on_criterion(self, call: Criterion) -> None:
        if (
            not self.hub.deep
            or not call.output.requires_grad
            or not watchable(call.target)
            or not watchable(call.input)
        ):
            return
        key = (call.name, call.where)
        looks = self._looks[key] = self._looks.get(key, 0) + 1
        if looks > FIRST_LOOKS and looks % LATER:
            return
        for finding in self._check(call):
            self._findings.add(finding, call.where)

    @on_deep_steps
    def on_backward(self, loss: torch.Tensor) -> None:
        self._tokens.clear()
        self._given = None

    def _check(self, call: Criterion) -> Iterator[Finding]:
        if call.name in BINARY:
            yield from _range(call)
        elif call.name in SIGNED:
            yield from _signs(call)
        elif call.name == "cross_entropy" and call.target.is_floating_point():
            yield from _distribution(call)
        elif call.name in ("cross_entropy", "nll_loss"):
            yield from self._sequences(call)
        elif call.name in REGRESSION and call.target.is_floating_point():
            yield from self._copied(call)

    def _copied(self, call: Criterion) -> Iterator[Finding]:
        """One of the numbers that go in is the answer."""
        data, target = self._given, call.target
        if (
            data is None
            or not watchable(data)
            or data.dim() < 2
            or target.numel() != len(data)
            or len(data) < LEAST_ROWS
        ):
            return
        rows = near(data).flatten(1)
        answers = near(target).reshape(-1)[: len(rows)].to(rows.dtype)
        width = rows.shape[1]
        if not LEAST_WIDTH <= width <= MOST_WIDTH or len(answers.unique()) < VARIED * len(answers):  # type: ignore[no-untyped-call]
            return
        same = (rows[: len(answers)] == answers.unsqueeze(1)).all(0).nonzero().flatten().tolist()
        found = self._copies.setdefault(call.where, [])
        found.append(same[-1] if same else -1)
        if len(found) >= 2 and len(set(found)) == 1 and same:
            yield Finding(
                "targets-not-next-token", True,
                f"Each target of {call.name} is number {same[-1] + 1} of the {width} that the model is given for it: it only has to copy.", 0.9,
            )  # fmt: skip

    def _sequences(self, call: Criterion) -> Iterator[Finding]:
        """Targets beside the tokens that went in."""
        classes = call.input.shape[1] if call.input.dim() > 1 else 0
        same_size = [ids for ids, size in self._tokens if size == classes and ids.device == call.target.device]
        texts = [ids for ids in same_size if watchable(ids) and ids.numel() >= LEAST_TOKENS]
        if not texts:
            self._tags(call)
            return
        ignored = call.options.get("ignore_index", -100)
        pairs = [pair for pair in (_beside(ids, call.target) for ids in texts) if pair is not None]
        told = [_agreement(ids, targets, ignored) for ids, targets in pairs]
        # of an encoder and a decoder, the one counts whose next tokens are the targets; a copy of the targets only where there is none
        best = max(told, key=lambda shares: (shares[1] >= SAME, shares[0], shares[2]), default=None)
        if best is not None:
            yield from self._offset(call, best)
        if len(texts) == 1 and pairs and call.options.get("reduction", "mean") != "none":
            self.hub.measure(padding_of(call, *pairs[0], ignored))

    def _tags(self, call: Criterion) -> None:
        """Targets of another kind than the tokens, one for each of them: where the tokens end, those should too."""
        alike = [
            ids for ids, _ in self._tokens if ids.device == call.target.device and ids.numel() == call.target.numel()
        ]
        if len(alike) != 1 or not watchable(alike[0]) or alike[0].numel() < LEAST_TOKENS:
            return
        ids = alike[0]
        few = max(1, MOST_TOKENS // ids.shape[1])
        ids, targets = ids[:few].cpu(), call.target.detach().reshape(ids.shape)[:few].cpu()
        if call.options.get("reduction", "mean") != "none":
            self.hub.measure(padding_of(call, ids, targets, call.options.get("ignore_index", -100), tags=True))

    def _offset(self, call: Criterion, shares: list[float]) -> Iterator[Finding]:
        name = "targets-not-next-token"
        *agree, repeated, left = shares
        if repeated > REPEATING or left < 0.5:
            return
        best = max(range(3), key=lambda offset: agree[offset])
        if agree[best] < SAME:
            return
        found = self._offsets.setdefault(call.where, [])
        found.append(best)
        if len(found) < 2 or set(found) != {best}:
            return
        if best == 1:
            yield Finding(name, False, f"The targets of {call.name} are the next tokens of the input.")
        elif best == 0:
            yield Finding(
                name,
                True,
                f"The targets of {call.name} equal the input tokens at the same position ({agree[0]:.0%}): the model only has to copy.",
                0.9,
            )
        else:
            yield Finding(
                name,
                True,
                f"The targets of {call.name} are the input tokens two positions ahead ({agree[2]:.0%}): shifted twice.",
                0.9,
            )


def _beside(ids: torch.Tensor, target: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor] | None:
    """Some rows of tokens with the targets of each, where there is one for every token or for every one but the last."""
    rows, length = ids.shape
    wide = target.numel() // rows
    if wide * rows != target.numel() or wide not in (length, length - 1):
        return None
    few = max(1, MOST_TOKENS // length)
    return ids[:few].cpu(), target.detach().reshape(rows, wide)[:few].cpu()


def _agreement(ids: torch.Tensor, targets: torch.Tensor, ignored: int) -> list[float]:
    """The shares of targets that equal the tokens 0, 1 and 2 places ahead, of neighbours that are equal, and of targets that count."""
    counted = targets != ignored
    shares = []
    for offset in (0, 1, 2):
        count = min(targets.shape[1], ids.shape[1] - offset)
        here = counted[:, :count]
        same = (targets[:, :count] == ids[:, offset : offset + count]) & here
        shares.append(same.sum() / here.sum().clamp(min=1))
    repeats = (ids[:, 1:] == ids[:, :-1]).float().mean()
    numbers: list[float] = torch.stack([*shares, repeats, counted.float().mean()]).tolist()
    return numbers


def _range(call: Criterion) -> Iterator[Finding]:
    name, codes = "labels-out-of-range", "codes-out-of-range"
    target = near(call.target).float()
    low, high = target.aminmax()
    least, most, coded = torch.stack([low, high, ((target == low) | (target == high)).float().mean()]).tolist()
    if least < -1e-3 or most > 1 + 1e-3:
        yield Finding(
            name, True, f"{call.name} is given targets from {least:.4g} to {most:.4g}; it is defined for 0 to 1."
        )
        if coded < 1:
            yield Finding(codes, False, f"The targets of {call.name} have more than two values.")
        elif target.numel() >= LEAST_CODES:
            yield Finding(
                codes, True, f"All targets of {call.name} are {least:.4g} or {most:.4g}; it is defined for 0 to 1."
            )
    elif least == least and most == most:
        yield Finding(name, False, f"The targets of {call.name} lie between 0 and 1.")
        yield Finding(codes, False, f"The targets of {call.name} lie between 0 and 1.")


def _signs(call: Criterion) -> Iterator[Finding]:
    target = near(call.target)
    zeros, ones = torch.stack([(target == 0).sum(), (target == 1).sum()]).tolist()
    wrong = zeros + ones == target.numel() >= LEAST_CODES and zeros > 0 and ones > 0
    text = f"Of {target.numel()} targets of {call.name} {zeros} are 0 and {ones} are 1; it is defined for -1 and 1."
    yield Finding("codes-out-of-range", wrong, text)


def _distribution(call: Criterion) -> Iterator[Finding]:
    name = "targets-no-distribution"
    target = call.target
    if target.dim() < 2 or target.shape != call.input.shape:
        return
    share = float((near(target).float().sum(1) >= SEVERAL_LABELS).float().mean())
    if share >= SEVERAL_ROWS:
        yield Finding(
            name,
            True,
            f"{share:.0%} of the target rows of cross_entropy sum to {SEVERAL_LABELS:g} or more: several labels for one sample, but it expects one.",
        )
    else:
        yield Finding(name, False, "The target rows of cross_entropy sum to 1.")


OBSERVER = Labels
