"""What `generate` is given to continue."""

from __future__ import annotations

from typing import Any

import torch

from traindx.live.measures.rows import watchable
from traindx.live.tokens.batch import INTEGERS
from traindx.live.tokens.vocabulary import Vocabulary
from traindx.measurements import GenerationCalls

MAX_CALLS = 32
MAX_ROWS = 64
MIN_OPENING = 2  # tokens before answers: one may end any text
DIFFERENT = 8  # prompts that have to differ before what they all end with is no content
MAX_SUFFIX = 12  # tokens before an answer that are remembered


class Generation:
    """Counts over all calls."""

    def __init__(self) -> None:
        self._prompts: set[tuple[int, ...]] = set()
        self.calls = self.rows = self.uneven = self.right_padded = self.bos_doubled = self.compared = self.opened = 0

    def add(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], vocabulary: Vocabulary | None, opening: tuple[int, ...]
    ) -> bool:
        """Whether this was a call with tokens."""
        ids = kwargs.get("input_ids", kwargs.get("inputs", args[0] if args else None))
        usable = isinstance(ids, torch.Tensor) and ids.dim() == 2 and ids.dtype in INTEGERS and watchable(ids)
        if self.calls >= MAX_CALLS or ids is None or not usable:
            return False
        rows = ids.detach()[:MAX_ROWS].cpu().tolist()
        mask = kwargs.get("attention_mask")
        shown = mask.detach()[:MAX_ROWS].cpu().tolist() if mask is not None and _fits(mask, ids) else None
        pad = vocabulary.pad if vocabulary is not None else None
        texts = [_text(row, shown[number] if shown is not None else None, pad) for number, row in enumerate(rows)]
        self.calls += 1
        self.rows += len(rows)
        uneven = len({len(text) for text, _ in texts}) > 1
        for text, behind in texts:
            if len(self._prompts) < MAX_ROWS:
                self._prompts.add(tuple(text))
            self.uneven += uneven
            self.right_padded += uneven and behind > 0
            if vocabulary is not None and vocabulary.bos is not None and vocabulary.bos != pad:
                self.bos_doubled += text[:2] == [vocabulary.bos] * 2
            if vocabulary is not None and len(opening) >= MIN_OPENING:
                self.compared += 1
                self.opened += _ends_with(text, list(opening), vocabulary)
        return True

    def ending(self) -> tuple[int, ...]:
        """What all prompts end with, where enough of them differ."""
        if len(self._prompts) < DIFFERENT:
            return ()
        one, *others = (text[::-1] for text in self._prompts)
        shared = 0
        while shared < MAX_SUFFIX and all(
            one[shared : shared + 1] == text[shared : shared + 1] != () for text in others
        ):
            shared += 1
        return one[:shared][::-1] if shared >= MIN_OPENING else ()

    def measurement(self, where: str) -> GenerationCalls:
        return GenerationCalls(
            calls=self.calls,
            rows=self.rows,
            uneven=self.uneven,
            right_padded=self.right_padded,
            bos_doubled=self.bos_doubled,
            compared=self.compared,
            opened=self.opened,
            where=where,
        )


def _fits(mask: Any, ids: torch.Tensor) -> bool:
    return isinstance(mask, torch.Tensor) and mask.shape == ids.shape and watchable(mask)


def _text(row: list[int], shown: list[int] | None, pad: int | None) -> tuple[list[int], int]:
    """A prompt without padding, and how much padding stands behind it."""
    visible = [bool(one) for one in shown] if shown is not None else [True] * len(row)
    if all(visible):
        visible = [one != pad for one in row]
    if not any(visible):
        return [], len(row)
    last = max(place for place, one in enumerate(visible) if one)
    first = visible.index(True)
    return row[first : last + 1], len(row) - 1 - last


def _ends_with(text: list[int], opening: list[int], vocabulary: Vocabulary) -> bool:
    """White space at the end left out: it is often part of the first token of an answer."""
    text, opening = (_stripped(one, vocabulary) for one in (text, opening))
    count = min(len(opening), len(text))
    return count > 0 and text[-count:] == opening[-count:]


def _stripped(numbers: list[int], vocabulary: Vocabulary) -> list[int]:
    last = len(numbers)
    while last and not vocabulary.piece(numbers[last - 1]).strip():
        last -= 1
    return numbers[:last]
