"""Measures what the loss of a language model sees: which tokens a batch holds, which of them count, and what each
costs."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable, Mapping
from typing import Any

import torch

from traindx.live.events.hub import Hub, user_line
from traindx.live.events.instrument import Criterion, Observer, on_deep_steps, on_deep_steps_and_evaluation
from traindx.live.events.places import own_line
from traindx.live.measures.packing import Packing
from traindx.live.measures.rows import watchable
from traindx.live.measures.tensors import tensors_in
from traindx.live.tokens.batch import (
    Pieces,
    Targets,
    Texts,
    batch_of,
    from_labels,
    is_text,
    learned_positions,
    targets_of,
)
from traindx.live.tokens.counting import Totals, samples_of
from traindx.live.tokens.crossing import Crossing
from traindx.live.tokens.finding import find_vocabulary
from traindx.live.tokens.generation import Generation
from traindx.live.tokens.rows import Row, read_row
from traindx.live.tokens.vocabulary import Vocabulary
from traindx.live.tokens.written_out import gathered, mask_of
from traindx.measurements import AttendedPadding

FIRST_LOOKS = 24  # batches of each loss that are looked at on deep steps, and after that
LATER = 8  # every so many
MAX_EVALUATED = 8  # batches of an evaluation
MAX_SITES = 4  # losses that are kept apart
FIND_TRIES = 3  # looks at which a tokenizer is looked for
TRIAL_SECONDS = 0.5  # that calling a model again may take on a GPU, as in `Causality`
MIN_PADDING = 2  # tokens before a sample that is tried, and of the sample
SHOWN = (1, 8, 64)  # looks whose rows are written token by token

Call = tuple[weakref.ref[torch.nn.Module], tuple[Any, ...], dict[str, Any]]  # of a model


class TokenBatches(Observer):
    def __init__(self, hub: Hub) -> None:
        super().__init__(hub)
        self._texts = Texts()
        self._pieces = Pieces()
        self._targets: Targets | None = None  # of the last loss, not yet laid beside its batch
        self._given: Mapping[str, Any] | None = None  # what the model was called with
        self._call: Call | None = None
        self._crossing: Crossing | None = None  # packed documents, to be tried after the update
        self._padding: tuple[Crossing, int, str] | None = None  # the same with padding before a sample of that length
        self._padding_tried = False
        self._inside: Criterion | None = None  # a loss that a model computes itself, until the model returns
        self._crossed: tuple[float, float] | None = None  # what the trial gave
        self._tried = False
        self._totals: dict[tuple[bool, str], Totals] = {}
        self._looks: dict[tuple[bool, str], int] = {}
        self._places: dict[str, str] = {}  # where a loss is computed, and where the user asks for it
        self._vocabulary: Vocabulary | None = None
        self._tries = 0
        self._packing = Packing(hub)
        self._generation = Generation()
        self._watches = False  # calls of generate

    def attach(self) -> None:
        self._packing.attach()

    def _watch_generation(self) -> None:
        """Once a batch of tokens was seen: a script that generates has imported what it does so with."""
        mixin = getattr(sys.modules.get("transformers.generation.utils"), "GenerationMixin", None)
        if mixin is not None and not self._watches:
            self._watches = True
            self.hub.patch(mixin, "generate", self._around_generate)

    def _around_generate(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def generate(model: Any, *args: Any, **kwargs: Any) -> Any:
            decoder = not getattr(getattr(model, "config", None), "is_encoder_decoder", False)
            if decoder and not torch.compiler.is_compiling():
                self.hub.guard(self, self._generated, args, kwargs)
            return original(model, *args, **kwargs)

        return generate

    def _generated(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        trained = [one for (evaluation, _), one in self._totals.items() if not evaluation]
        opening = max(trained, key=lambda one: one.numbers["structured"], default=None)
        before = opening.frame if opening is not None else ()
        if self._generation.add(args, kwargs, self._vocabulary, before):
            self.hub.measure(self._generation.measurement(user_line()))
            for one in trained:
                if one.read_again(self._generation.ending()):
                    self.hub.measure(one.counts())

    # --- what the model and its loss are given ------------------------------------------------------------------------

    def on_module(self, module: torch.nn.Module, name: str, args: tuple[Any, ...], output: Any) -> None:
        if isinstance(module, torch.nn.Embedding) and args:
            self._texts.add(args[0], module.num_embeddings)

    def on_forward(self, model: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> None:
        inside, self._inside = self._inside, None
        if not any(is_text(one) for one in tensors_in((args, kwargs))):
            return
        self._given = {**{f"argument {place}": one for place, one in enumerate(args)}, **kwargs}
        self._call = (weakref.ref(getattr(model, "_orig_mod", model)), args, kwargs)
        if self.hub.sampling_calls:
            self._texts.clear()  # of a call before: layers are not reported, so that this one has left nothing yet
        if not self._texts.inputs:  # compiled: its layers were not seen
            ids = next((one for one in tensors_in((args, kwargs)) if is_text(one)), None)
            self._texts.add(ids, 0)
        if inside is not None and not self.hub.grad:
            self._targets = targets_of(inside, self._texts.inputs)
            if self._targets is None:  # else the next loss of this model would be laid beside these tokens
                self._forget()
                return
        if self._targets is None:
            self._targets = from_labels(kwargs, output, self._texts.inputs, type(model).__name__)
        if not self.hub.grad and self._targets is not None:
            self._look(self._targets, evaluation=True)

    on_sampled_call = on_forward

    @on_deep_steps_and_evaluation
    def on_criterion(self, call: Criterion) -> None:
        evaluation = not call.output.requires_grad
        if call.name not in ("cross_entropy", "nll_loss") or not (self._texts.inputs or (evaluation and self._looks)):
            return
        if not self._wanted(evaluation, call.where):
            return
        if evaluation and self.hub.sampling_calls and self.hub.within_call:  # its tokens are known when it returns
            self._inside = call
            return
        targets = targets_of(call, self._texts.inputs) or self._pieces.add(call, self._texts.inputs)
        if targets is None:
            return
        self._targets = targets
        if evaluation and self._given is not None:
            self._look(targets, evaluation=True)

    @on_deep_steps
    def on_backward(self, loss: torch.Tensor) -> None:
        targets, readable = self._targets, not self._packing.seen and watchable(loss) and loss.numel() == 1
        if targets is None and readable and self._texts.inputs:
            targets = gathered(loss, self._texts.inputs, user_line())
        if targets is not None:
            if not targets.reduced and readable:
                _apply_mask(targets, loss)
            self._look(targets, evaluation=False)
        self._forget()

    @on_deep_steps
    def on_updated(self, optimizer: torch.optim.Optimizer) -> None:
        crossing, self._crossing = self._crossing, None
        padding, self._padding = self._padding, None
        if crossing is not None and self._may_try(crossing):
            self._tried = True
            self._crossed = crossing.tried()
        elif padding is not None and self._may_try(padding[0]):
            self._padding_tried = True
            self._try_padding(*padding)

    def _may_try(self, crossing: Crossing) -> bool:
        if torch.distributed.is_available() and torch.distributed.is_initialized():
            return False
        return not crossing.ids.is_cuda or self.hub.room >= TRIAL_SECONDS

    def _try_padding(self, crossing: Crossing, tokens: int, where: str) -> None:
        found = crossing.tried()
        if found is not None:
            change, noise = found
            self.hub.measure(
                AttendedPadding(padding=crossing.boundary, tokens=tokens, change=change, noise=noise, where=where)
            )

    def on_depth(self, deep: bool) -> None:
        self._forget()

    def on_models_freed(self) -> None:
        self._crossing = self._padding = None
        self._forget()

    def _forget(self) -> None:
        self._texts.clear()
        self._pieces.clear()
        self._targets = self._given = self._call = self._inside = None

    # --- is laid side by side -----------------------------------------------------------------------------------------

    def _wanted(self, evaluation: bool, where: str) -> bool:
        looks = self._looks.get((evaluation, where), 0)
        if (evaluation, where) not in self._looks and len(self._looks) >= MAX_SITES:
            return False
        return looks < (MAX_EVALUATED if evaluation else FIRST_LOOKS) or (not evaluation and looks % LATER == 0)

    def _look(self, targets: Targets, *, evaluation: bool) -> None:
        key = (evaluation, targets.where)
        place = self._place(targets.where)
        where = f"{place} in evaluation" if evaluation else place  # so that both are written
        given, call = self._given or {}, self._call
        texts = [ids for ids, _ in self._texts.inputs]
        self._forget()
        if not self._wanted(*key):
            self._looks[key] = self._looks.get(key, 0) + 1
            return
        look = self._looks[key] = self._looks.get(key, 0) + 1
        self._find(targets.classes)
        self._watch_generation()
        targets.where = where
        batch = batch_of(targets, given)
        batch.learned = learned_positions(batch, texts)
        rows = [read_row(batch, number, self._vocabulary) for number in range(len(batch.ids))]
        totals = self._totals.setdefault(key, Totals(evaluation, where))
        totals.add(batch, rows, self._vocabulary)
        if look in SHOWN:
            self.hub.measure(samples_of(batch, rows, self._vocabulary, evaluation, self.hub.private))
        self.hub.measure(totals.counts())
        if self._vocabulary is not None:
            self.hub.measure(totals.special(self._vocabulary))
        if any(totals.numbers[name] for name in ("packed", "positions_given", "learned")):
            change, noise = self._crossed or (None, None)
            self.hub.measure(totals.packing(change, noise))
        if not evaluation and not self._tried and call is not None:
            self._crossing = _crossing(rows, call, texts)
        if not evaluation and not self._padding_tried and call is not None:
            self._padding = _padding(rows, call, texts, where)

    def _place(self, loss: str) -> str:
        """The user's own line for a loss that a library computes; one line stands for one loss."""
        if loss not in self._places:
            own = own_line()
            self._places[loss] = own if own and own not in self._places.values() else loss
        return self._places[loss]

    def _find(self, size: int) -> None:
        if self._vocabulary is None and self._tries < FIND_TRIES:
            self._tries += 1
            self._vocabulary = find_vocabulary(size)


def _crossing(rows: list[Row], call: Call, texts: list[torch.Tensor]) -> Crossing | None:
    """The first row of instructions with several documents, to be tried on the model."""
    for number, row in enumerate(rows):
        if row.packed and row.known_by:
            ids = next((one for one in texts if one[number, : len(row.ids)].tolist() == row.ids), None)
            return Crossing(*call, ids, number, row.starts[0], row.last) if ids is not None else None
    return None


def _padding(rows: list[Row], call: Call, texts: list[torch.Tensor], where: str) -> tuple[Crossing, int, str] | None:
    """The row with the most padding before its sample."""
    number = max(range(len(rows)), key=lambda one: rows[one].first, default=0)
    row = rows[number] if rows else None
    if row is None or row.first < MIN_PADDING or row.length < MIN_PADDING:
        return None
    ids = next((one for one in texts if one[number, : len(row.ids)].tolist() == row.ids), None)
    return (Crossing(*call, ids, number, row.first), row.length, where) if ids is not None else None


def _apply_mask(targets: Targets, loss: torch.Tensor) -> None:
    """Leave out what a mask leaves out that is multiplied in."""
    width = targets.values.shape[1]
    mask = mask_of(loss, targets.rows * width)
    if mask is not None:
        rows, kept = len(targets.values), min(width, targets.values.shape[1])
        targets.counted &= mask.reshape(targets.rows, width)[:rows, :kept]


OBSERVER = TokenBatches
