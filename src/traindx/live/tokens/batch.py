"""A batch of a language model as its loss sees it: rows of tokens, the target that each position was given, which of
them count and what each costs.

Targets come from a loss function, from a loss that is written out in the graph, or from a model that computes the loss
of each token by itself. They are laid beside the tokens that went into an embedding, and where they are found among
those says who shifted them, and how far."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from traindx.live.events.instrument import Criterion
from traindx.live.measures.rows import watchable
from traindx.live.measures.tensors import entries

MAX_ROWS = 16  # of a batch that are looked at,
MAX_KEPT = 4  # and whose losses are taken
MAX_LENGTH = 4096  # tokens of a row
MAX_NUMBERS = 1 << 25  # scores of which losses are computed
MIN_TOKENS = 2  # of a row
FOUND = 0.9  # of the counted targets are found at one offset: what they are is known
SHIFTED = 0.5  # and enough of them to lay them beside their tokens
INTEGERS = (torch.int64, torch.int32)


@dataclass(slots=True)
class Texts:
    """What went into embeddings since the last loss."""

    inputs: list[tuple[torch.Tensor, int]] = field(default_factory=list)  # with the number of rows of the embedding

    def add(self, ids: Any, size: int, most: int = 8) -> None:
        if len(self.inputs) < most and is_text(ids):
            self.inputs.append((ids, size))

    def clear(self) -> None:
        self.inputs.clear()


def is_text(ids: Any) -> bool:
    """Whether this may be rows of tokens."""
    return (
        isinstance(ids, torch.Tensor)
        and ids.dim() == 2
        and ids.dtype in INTEGERS
        and ids.shape[1] >= MIN_TOKENS
        and watchable(ids)
    )


@dataclass(slots=True)
class Targets:
    """The targets of a loss in the order of positions, (rows, width), with the losses of the first rows."""

    values: torch.Tensor
    counted: torch.Tensor
    losses: torch.Tensor | None
    ids: torch.Tensor
    classes: int
    ignored: int | None
    where: str
    reduced: bool = True  # the loss is one number: nothing is masked afterwards
    rows: int = 0  # of the whole batch


@dataclass(slots=True)
class TokenBatch:
    """Rows of tokens with what belongs to each. `target`, `counted` and `losses` stand beside the token that they are
    about, `shift` positions after the one at which it is to be predicted."""

    ids: torch.Tensor
    target: torch.Tensor
    has_target: torch.Tensor
    counted: torch.Tensor
    losses: torch.Tensor | None  # of the first rows
    shift: int  # -1 where it does not show
    offsets: tuple[int, int, int]  # counted targets that equal the token 0, 1 and 2 positions ahead
    classes: int
    ignored: int | None
    where: str
    attention: torch.Tensor | None = None
    positions: torch.Tensor | None = None
    learned: torch.Tensor | None = None  # positions that went through an embedding
    separated: bool = False  # something beside position ids tells documents apart


def targets_of(call: Criterion, texts: Sequence[tuple[torch.Tensor, int]]) -> Targets | None:
    """The targets of a call of a loss function, beside the tokens that they belong to."""
    target = call.target
    if target.is_floating_point() or not watchable(target) or not watchable(call.input) or call.input.dim() < 2:
        return None
    ignored = int(call.options.get("ignore_index", -100))
    classes = call.input.shape[1]
    for ids, size in sorted(texts, key=lambda one: one[1] != classes):
        width = _width(ids, target)
        if width is None:
            continue
        values = _rows(target, ids, width)
        counted = values != ignored
        few = _few(ids)
        if size != classes and max(_offsets(few, values, counted)) < FOUND * max(1, int(counted.sum())):
            continue
        weights = call.options.get("weight")
        if isinstance(weights, torch.Tensor) and len(weights) == classes:
            counted = counted & (weights.detach().cpu()[values.clamp(0, classes - 1)] != 0)
        return Targets(
            values=values,
            counted=counted,
            losses=_losses(call, values, ids.shape[0], width, ignored),
            ids=few,
            classes=classes,
            ignored=ignored,
            where=call.where,
            reduced=call.options.get("reduction", "mean") != "none",
            rows=ids.shape[0],
        )
    return None


class Pieces:
    """Calls of a loss function since the last model call that see a part of the targets each: a few positions of every
    row, or a stretch of all rows behind each other, as losses in chunks do to save memory."""

    def __init__(self) -> None:
        self._values: list[torch.Tensor] = []
        self._losses: list[torch.Tensor | None] = []

    def clear(self) -> None:
        self._values.clear()
        self._losses.clear()

    def add(self, call: Criterion, texts: Sequence[tuple[torch.Tensor, int]]) -> Targets | None:
        """The targets of all of them, once they are complete."""
        target, classes = call.target, call.input.shape[1] if call.input.dim() == 2 else 0
        if not classes or target.is_floating_point() or not watchable(target) or not watchable(call.input):
            return None
        ids = next((one for one, size in texts if size == classes), None)
        if ids is None or _width(ids, target) is not None:
            return None
        rows, ignored = ids.shape[0], int(call.options.get("ignore_index", -100))
        self._values.append(target.detach().reshape(-1).cpu().long())
        wide = target.numel() // rows
        apart = self._values[-1].reshape(rows, wide)[:MAX_ROWS] if wide * rows == target.numel() else None
        self._losses.append(None if apart is None else _losses(call, apart, rows, wide, ignored))
        whole = torch.cat(self._values)
        width = _width(ids, whole)
        if width is None:
            if len(whole) > ids.numel():
                self.clear()
            return None
        few, losses = _few(ids), self._losses
        values, aligned = max(
            self._in_order(whole, rows, width), key=lambda one: max(_offsets(few, one[0], one[0] != ignored))
        )
        counted = values != ignored
        self._values, self._losses = [], []
        if max(_offsets(few, values, counted)) < FOUND * int(counted.sum()):
            return None
        return Targets(
            values, counted, _together(losses, width) if aligned else None, few, classes, ignored, call.where, rows=rows
        )

    def _in_order(self, whole: torch.Tensor, rows: int, width: int) -> list[tuple[torch.Tensor, bool]]:
        """The targets in both orders that are possible, and whether the pieces lie side by side in it."""
        orders = [(whole.reshape(rows, width), False)]
        if all(len(one) % rows == 0 for one in self._values):
            orders.append((torch.cat([one.reshape(rows, -1) for one in self._values], 1), True))
        return [(one[:MAX_ROWS, :MAX_LENGTH], aligned) for one, aligned in orders]


def _together(losses: Sequence[torch.Tensor | None], width: int) -> torch.Tensor | None:
    """The losses of pieces that lie side by side."""
    known = [one for one in losses if one is not None]
    if len(known) < len(losses):
        return None
    kept = min(map(len, known))
    found = torch.cat([one[:kept] for one in known], 1)
    return found if found.shape[1] == width else None


def from_labels(
    kwargs: Mapping[str, Any], output: Any, texts: Sequence[tuple[torch.Tensor, int]], where: str
) -> Targets | None:
    """The targets of a model that is given labels and gives back a number for each of their tokens."""
    labels = kwargs.get("shift_labels")
    shifted = is_text(labels)
    if not shifted:
        labels = kwargs.get("labels")
    if not isinstance(labels, torch.Tensor) or not is_text(labels):
        return None
    rows, length = labels.shape
    width = length if shifted else length - 1
    given = entries(output) if isinstance(output, Mapping) else ()
    each = next((one for name, one in given if name == "log_probs" and _is_number_each(one, rows, width)), None)
    if each is None:
        return None
    ids = kwargs.get("input_ids")
    if not isinstance(ids, torch.Tensor) or ids.shape != labels.shape:
        ids = next((one for one, _ in texts if one.shape == labels.shape), None)
    if ids is None:
        return None
    few = _few(ids)
    values = _few(labels) if shifted else _few(labels)[:, 1:]
    classes = next((size for one, size in texts if one.shape == labels.shape), int(few.max()) + 1)
    losses = -each.detach()[:MAX_KEPT, : values.shape[1]].float().cpu()
    return Targets(values, values != -100, losses, few, classes, -100, where, rows=rows)


def _is_number_each(value: Any, rows: int, width: int) -> bool:
    return isinstance(value, torch.Tensor) and value.shape == (rows, width) and value.is_floating_point()


def batch_of(targets: Targets, kwargs: Mapping[str, Any]) -> TokenBatch:
    """Everything laid beside the tokens, with what else the model was given."""
    ids, values, counted = targets.ids, targets.values, targets.counted
    rows, length = ids.shape
    offsets = _offsets(ids, values, counted)
    most = max(offsets)
    found = most >= SHIFTED * max(1, int(counted.sum())) and most > 0
    shift = offsets.index(most) if found else -1
    if offsets[1] == most and found:
        shift = 1  # of texts that repeat themselves
    if not counted.any():
        shift = 1
    first = max(shift, 0)
    covered = min(length - first, values.shape[1])
    batch = TokenBatch(
        ids=ids,
        target=torch.full((rows, length), -1, dtype=torch.int64),
        has_target=torch.zeros(rows, length, dtype=torch.bool),
        counted=torch.zeros(rows, length, dtype=torch.bool),
        losses=None,
        shift=shift,
        offsets=offsets,
        classes=targets.classes,
        ignored=targets.ignored,
        where=targets.where,
    )
    place = slice(first, first + covered)
    batch.target[:, place] = values[:, :covered]
    batch.has_target[:, place] = True
    batch.counted[:, place] = counted[:, :covered]
    if targets.losses is not None:
        batch.losses = torch.full((len(targets.losses), length), float("nan"))
        wide = min(covered, targets.losses.shape[1])
        batch.losses[:, first : first + wide] = targets.losses[:, :wide]
    _add_given(batch, kwargs, targets.rows)
    return batch


def learned_positions(batch: TokenBatch, texts: Sequence[torch.Tensor]) -> torch.Tensor | None:
    """What went into an embedding beside the tokens and goes up by one in every row, whoever made it."""
    rows, length = batch.ids.shape
    for ids in texts:
        few = _few(ids)
        if few.shape[1] != length or len(few) not in (1, rows):
            continue
        up = few[:, 1:] - few[:, :-1]
        if bool((up >= 0).all() & (up <= 1).all() & (up == 1).any(1).all()):
            return few.expand(rows, length)
    return None


def _add_given(batch: TokenBatch, kwargs: Mapping[str, Any], all_rows: int) -> None:
    rows, length = batch.ids.shape
    for name, value in kwargs.items():
        if not isinstance(value, torch.Tensor):
            # masks of pairs come as objects of their own; so does what several kinds of attention are given
            batch.separated = batch.separated or ("mask" in name and value is not None and not isinstance(value, bool))
            continue
        if not watchable(value):
            continue
        whole = value.dim() == 2 and value.shape[1] >= length and len(value) == all_rows
        if "position" in name and value.dim() == 2 and value.shape[1] >= length and len(value) in (1, all_rows):
            batch.positions = value.detach()[:rows, :length].cpu().long().expand(rows, length)
        elif "mask" in name and "attention" in name and whole:
            batch.attention = value.detach()[:rows, :length].cpu() > 0
            batch.separated = batch.separated or bool(value.detach().amax() > 1)  # numbers of documents
        elif ("mask" in name and value.dim() >= 3) or name.startswith(("cu_seq", "seq_idx", "cu_doc")):
            batch.separated = True
        elif any(word in name for word in ("doc", "segment", "sequence_id", "seq_id")) and whole:
            batch.separated = batch.separated or bool((value[:, 1:] != value[:, :-1]).any())


def _offsets(ids: torch.Tensor, values: torch.Tensor, counted: torch.Tensor) -> tuple[int, int, int]:
    found = []
    for offset in (0, 1, 2):
        covered = max(0, min(values.shape[1], ids.shape[1] - offset))
        same = (values[:, :covered] == ids[:, offset : offset + covered]) & counted[:, :covered]
        found.append(int(same.sum()))
    return found[0], found[1], found[2]


def _width(ids: torch.Tensor, target: torch.Tensor) -> int | None:
    """How many targets each row of tokens has."""
    rows, length = ids.shape
    width = target.numel() // rows
    return width if width * rows == target.numel() and width in (length, length - 1, length - 2) else None


def _few(ids: torch.Tensor) -> torch.Tensor:
    return ids.detach()[:MAX_ROWS, :MAX_LENGTH].cpu().long()


def _rows(target: torch.Tensor, ids: torch.Tensor, width: int) -> torch.Tensor:
    return target.detach().reshape(ids.shape[0], width)[:MAX_ROWS, :MAX_LENGTH].cpu().long()


def _losses(call: Criterion, values: torch.Tensor, rows: int, width: int, ignored: int) -> torch.Tensor | None:
    """The loss of each target of the first rows, by the operation that the loss itself uses."""
    kept = min(MAX_KEPT, rows)
    if call.options.get("reduction") == "none" and call.output.numel() == rows * width:
        return call.output.detach().reshape(rows, width)[:kept, :MAX_LENGTH].float().cpu()
    scores = call.input.detach()
    classes = scores.shape[1]
    if scores.dim() == 2:
        scores = scores.reshape(rows, width, classes) if scores.shape[0] == rows * width else scores[:0]
    else:
        scores = scores.flatten(2).transpose(1, 2)
    if scores.dim() != 3 or scores.shape[:2] != (rows, width):
        return None
    kept = max(1, min(kept, MAX_NUMBERS // max(1, width * classes)))
    wide = min(width, MAX_LENGTH, max(1, MAX_NUMBERS // classes))
    scores = scores[:kept, :wide].reshape(-1, classes).float()
    wanted = values[:kept, :wide].reshape(-1).to(scores.device)
    wanted = torch.where((wanted >= 0) & (wanted < classes), wanted, -100)
    function = torch.nn.functional.nll_loss if call.name == "nll_loss" else torch.nn.functional.cross_entropy
    losses = function(scores, wanted, reduction="none", ignore_index=-100)
    return losses.reshape(kept, wide).cpu()
