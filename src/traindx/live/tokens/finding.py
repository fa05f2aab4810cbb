"""Finds the tokenizer of a training by the objects that are there: what the script holds in its globals, in the
variables of functions that are running, and in what those hold in turn, as a Trainer its tokenizer.

Attributes are read as they are stored; no property and no function of the user's is called."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import islice
from types import FrameType, FunctionType, ModuleType
from typing import Any

import torch

from traindx.live.events.places import outer, user_frame, variables
from traindx.live.tokens.vocabulary import Vocabulary, of_script, vocabulary_of

MAX_FRAMES = 24  # functions that are running
MAX_NAMES = 400  # variables of one of them
MAX_OBJECTS = 3000  # that are looked at in all
DEPTH = 2  # attributes of attributes; what is called a tokenizer may hold one that holds one
_WRAPS = "tokenizer"
NAMES = ("processing_class", "tokenizer", "processor", "data_collator", "collate_fn", "train_dataset", "dataset", "enc")
VOCABULARIES = ("itos", "stoi", "id2token", "idx2word", "ix_to_char", "vocab", "chars", "decoder", "idx_to_token")
LEAF_TYPES = (str, bytes, int, float, complex, bool, type(None), torch.Tensor, torch.nn.Module, ModuleType, type)


def find_vocabulary(size: int) -> Vocabulary | None:
    """The tokenizer that the numbers below `size` belong to: one of a library first, else a table of the script's."""
    found: list[Any] = []
    tables: list[Any] = []
    _look(found, tables, size)
    best: Vocabulary | None = None
    for one in found:
        vocabulary = vocabulary_of(one)
        if vocabulary is not None and (best is None or _fits(vocabulary, size) < _fits(best, size)):
            best = vocabulary
    # an embedding may have rows to spare, for the speed of round numbers; a tokenizer with more numbers is another's
    if best is not None and best.size <= size * 1.01 + 8:
        return best
    return next((table for one in tables if (table := of_script(one, size)) is not None), None)


def _fits(vocabulary: Vocabulary, size: int) -> int:
    return abs(vocabulary.size - size)


def _look(found: list[Any], tables: list[Any], size: int) -> None:
    seen: set[int] = set()
    waiting: list[tuple[str, Any, int]] = [(name, value, DEPTH) for name, value in _variables()]
    while waiting and len(seen) < MAX_OBJECTS:
        name, value, depth = waiting.pop(0)
        if id(value) in seen or issubclass(type(value), LEAF_TYPES):
            continue
        seen.add(id(value))
        if _is_tokenizer(value):
            found.append(value)
        elif isinstance(value, dict | list | tuple):
            if len(value) == size:
                tables.append(value)
            elif type(value) is dict and depth:  # tables that were stored together, as `meta`
                waiting += [(inner, value[inner], depth - 1) for inner in (*NAMES, *VOCABULARIES) if inner in value]
        elif depth:
            waiting += [
                (inner, member, depth - (_WRAPS not in inner.lower())) for inner, member in _attributes(value, name)
            ]


def _is_tokenizer(value: Any) -> bool:
    return any(
        one.__name__ in ("PreTrainedTokenizerBase", "Tokenizer", "Encoding", "SentencePieceProcessor")
        and one.__module__.partition(".")[0] in ("transformers", "tokenizers", "tiktoken", "sentencepiece")
        for one in type(value).__mro__
    )


def _variables() -> Iterator[tuple[str, Any]]:
    main = sys.modules.get("__main__")
    frames: list[FrameType] = []
    frame = user_frame()
    while frame is not None and len(frames) < MAX_FRAMES:
        frames.append(frame)
        frame = outer(frame)
    for one in reversed(frames):
        yield from islice(variables(one).items(), MAX_NAMES)
    if frames:
        yield from islice(frames[-1].f_globals.items(), MAX_NAMES)
    if main is not None:
        yield from islice(vars(main).items(), MAX_NAMES)


def _attributes(value: Any, name: str) -> Iterator[tuple[str, Any]]:
    """What an object holds under its own names, and what a function was made with."""
    try:
        held = object.__getattribute__(value, "__dict__")
    except Exception:  # it has none, or is made to look like something else
        held = None
    if type(held) is dict:
        for inner in (*NAMES, *VOCABULARIES):
            if inner in held:
                yield inner, held[inner]
        yield from islice(((str(inner), member) for inner, member in held.items()), 64)
    for cell in (value.__closure__ if isinstance(value, FunctionType) else None) or ():
        try:
            yield name, cell.cell_contents
        except ValueError:  # not filled yet
            continue
