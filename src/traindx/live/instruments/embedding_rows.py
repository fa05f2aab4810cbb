"""Measures which rows of an embedding the batches use, which of them were added in this process, and which never
move."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable
from typing import Any

import torch

from traindx.live.events.hub import Hub
from traindx.live.events.instrument import Observer, on_deep_steps
from traindx.live.events.naming import optimized
from traindx.live.measures.rows import near, watchable
from traindx.live.measures.tensors import weight_of
from traindx.measurements import EmbeddingRows

MAX_TABLES = 4
MAX_ROWS = 1 << 20  # of a table that is watched
MAX_COMPARED = 512  # used rows whose numbers are kept
MAX_COLUMNS = 256
MAX_FRAMES = 40  # of the call that adds tokens
MIN_ROWS = 16  # a smaller table is no vocabulary
MAX_PARAMETERS = 6  # parameters of an embedding with its adapter
EVERY = 5  # deep updates between two measurements
ALIKE = 1e-2  # distance of two rows by the usual one, of rows that are made from a mean and a little noise


class _Table:
    def __init__(self, layer: torch.nn.Module, name: str, rows: int) -> None:
        self.layer = weakref.ref(layer)
        self.name = name
        self.used = torch.zeros(rows, dtype=torch.bool)
        self.first: dict[int, torch.Tensor] = {}  # the numbers of used rows before the first update
        self.since = 0


class EmbeddingRowsObserver(Observer):
    def __init__(self, hub: Hub) -> None:
        super().__init__(hub)
        self._tables: dict[int, _Table] = {}
        self._added: dict[int, tuple[int, int]] = {}  # rows before and after a resize, by the rows after
        self._held: set[int] = set()
        self._looks = 0
        self._tokens = 0
        self._first_new = 0  # id of the first token that the script added
        self._padding: set[int] = set()  # ids of added tokens that are padding

    def attach(self) -> None:
        self.hub.after_import("transformers.modeling_utils", self._watch_resizing)
        self.hub.after_import("transformers.tokenization_utils_base", self._watch_tokenizers)

    def _watch_resizing(self) -> None:
        import transformers.modeling_utils as models

        self.hub.patch(models.PreTrainedModel, "resize_token_embeddings", self._around_resize)

    def _watch_tokenizers(self) -> None:
        import transformers.tokenization_utils_base as tokenizers

        self.hub.patch(tokenizers.PreTrainedTokenizerBase, "__call__", self._around_tokenizer)
        for name in ("add_tokens", "add_special_tokens"):
            self.hub.patch(tokenizers.PreTrainedTokenizerBase, name, self._around_adding)

    def _around_resize(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def resize_token_embeddings(model: Any, *args: Any, **kwargs: Any) -> Any:
            before = _rows(model)
            result = original(model, *args, **kwargs)
            after = _rows(model)
            if 0 < before < after and not self.hub.inside:
                # several resizes in a row count from the first
                first = self._added.pop(before, (before, before))[0]
                self._added[after] = (first, after)
            return result

        return resize_token_embeddings

    def _around_adding(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def adding(tokenizer: Any, *args: Any, **kwargs: Any) -> Any:
            before = _length(tokenizer)
            result = original(tokenizer, *args, **kwargs)
            # tokens that come with a saved tokenizer have been trained with it
            if 0 < before < _length(tokenizer) and not self.hub.inside and not _loading():
                self._first_new = min(before, self._first_new or before)
                self._note_padding(tokenizer)
            return result

        return adding

    def _note_padding(self, tokenizer: Any) -> None:
        """A token for padding alone has nothing to learn."""
        pad = getattr(tokenizer, "pad_token_id", None)
        if isinstance(pad, int) and pad != getattr(tokenizer, "eos_token_id", None):
            self._padding.add(pad)

    def _around_tokenizer(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def __call__(tokenizer: Any, *args: Any, **kwargs: Any) -> Any:
            if not self._tokens:
                self._tokens = _length(tokenizer)
            return original(tokenizer, *args, **kwargs)

        return __call__

    def on_module(self, module: torch.nn.Module, name: str, args: tuple[Any, ...], output: Any) -> None:
        if not self.hub.grad or not isinstance(module, torch.nn.Embedding) or not args:
            return
        ids = args[0]
        weight = weight_of(module)
        if not isinstance(ids, torch.Tensor) or not watchable(ids) or weight is None or not watchable(weight):
            return
        table = self._tables.get(id(module))
        if table is None or table.layer() is not module:
            if len(self._tables) >= MAX_TABLES or not MIN_ROWS <= module.num_embeddings <= MAX_ROWS:
                return
            table = self._tables[id(module)] = _Table(module, name, module.num_embeddings)
            table.since = self.hub.step
        inside = near(ids).reshape(-1)
        table.used[inside[(inside >= 0) & (inside < len(table.used))]] = True
        for pad in self._padding:
            table.used[pad : pad + 1] = False
        if self.hub.step == table.since:
            self._keep(table, weight)

    def _keep(self, table: _Table, weight: torch.Tensor) -> None:
        """Rows added in this process first: of the others a few are enough."""
        before = self._rows_before(weight)
        used = table.used.nonzero().flatten()
        wanted = [
            row for row in (*used[used >= before].tolist(), *used[used < before].tolist()) if row not in table.first
        ]
        wanted = wanted[: MAX_COMPARED - len(table.first)]
        if wanted:
            rows = _numbers(weight, wanted)
            table.first.update(zip(wanted, rows, strict=True))

    @on_deep_steps
    def on_updated(self, optimizer: torch.optim.Optimizer) -> None:
        self._held |= optimized([optimizer]).keys()
        self._looks += 1
        if self._looks % EVERY == 0:
            self._measure()

    def on_models_freed(self) -> None:
        self._measure()
        self._tables.clear()
        self._held.clear()

    def on_end(self) -> None:
        self._measure()

    def _measure(self) -> None:
        for table in self._tables.values():
            layer = table.layer()
            weight = weight_of(layer) if isinstance(layer, torch.nn.Embedding) else None
            if weight is not None and table.first and self.hub.step > table.since:
                self._measure_table(table, weight)

    def _measure_table(self, table: _Table, weight: torch.Tensor) -> None:
        rows = list(table.first)
        now = _numbers(weight, rows)
        then = torch.stack(list(table.first.values()))
        still = (now == then).all(1)
        before = self._rows_before(weight)
        fresh = torch.tensor([row >= before for row in rows])
        used = table.used.nonzero().flatten()
        self.hub.measure(
            EmbeddingRows(
                rows=len(weight),
                columns=weight.shape[1],
                used=len(used),
                largest=int(used.max()) if len(used) else 0,
                trainable=(weight.requires_grad and id(weight) in self._held) or self._adapted(weight),
                looked=len(rows),
                still=int(still.sum()),
                updates=self.hub.step - table.since,
                added=len(weight) - before,
                added_used=int(table.used[before:].sum()),
                added_still=int((still & fresh).sum()),
                alike=_alike(then),
                head_trainable=self._head(weight),
                tokens=max(self._tokens, 0),
                where=table.name,
            )
        )

    def _rows_before(self, weight: torch.Tensor) -> int:
        """Rows of the table that are older than this process: new tokens may lie in rows that were spare before."""
        before = self._added.get(len(weight), (len(weight),))[0]
        return min(before, self._first_new) if self._first_new else before

    def _adapted(self, weight: torch.Tensor) -> bool:
        """Whether a small module around the table has parameters that learn: an adapter of the embedding."""
        for model in self.hub.models.values():
            for layer in model.modules():
                if any(getattr(child, "weight", None) is weight for child in layer.children()):
                    members = list(layer.parameters())
                    if len(members) <= MAX_PARAMETERS and any(p.requires_grad and p is not weight for p in members):
                        return True
        return False

    def _head(self, weight: torch.Tensor) -> bool | None:
        """Whether the last matrix with a row for each token learns; None where the model has none."""
        learns = None
        for model in self.hub.models.values():
            for layer in model.modules():
                head = weight_of(layer) if isinstance(layer, torch.nn.Linear) else None
                if head is not None and len(head) == len(weight):
                    learns = bool(head.requires_grad and id(head) in self._held)
        return learns


def _numbers(weight: torch.Tensor, rows: list[int]) -> torch.Tensor:
    """Some columns of these rows in host memory, copied."""
    chosen = torch.tensor(rows, device=weight.device)
    return weight.detach()[:, :MAX_COLUMNS].index_select(0, chosen).cpu()


def _length(tokenizer: Any) -> int:
    try:
        return len(tokenizer)
    except Exception:  # a tokenizer of the user's own
        return 0


def _loading() -> bool:
    """Whether a saved tokenizer is being read just now."""
    frame: Any = sys._getframe(1)
    for _ in range(MAX_FRAMES):
        if frame is None:
            return False
        if frame.f_code.co_name in ("from_pretrained", "_from_pretrained", "__init__"):
            return True
        frame = frame.f_back
    return False


def _rows(model: Any) -> int:
    try:
        return int(model.get_input_embeddings().weight.shape[0])
    except Exception:  # a model without an embedding, or one of the user's own making
        return 0


def _alike(rows: torch.Tensor) -> int:
    """Rows that lie as close to another one as noise around a mean."""
    if len(rows) < 3:
        return 0
    apart = torch.cdist(rows.float(), rows.float())
    usual = apart[apart > 0].median() if bool((apart > 0).any()) else apart.new_tensor(0.0)
    apart.fill_diagonal_(float("inf"))
    return int((apart.min(1).values < ALIKE * usual).sum())


OBSERVER = EmbeddingRowsObserver
