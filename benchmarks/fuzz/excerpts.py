"""A short piece of a file that is still a file of its format: some lines of a log, the head and some rows of a table, a
few records of an event file; now and then the whole. An input costs as much as its length, and one change in ten lines
meets more than one in a hundred. The piece is drawn anew for every input, so that all of a long file is met."""

from __future__ import annotations

import json
import random
from typing import Any

from mutate import WANDB_BLOCK, mutation_of, tf_records, wandb_records

LINES = (2, 4, 8, 12)  # lines or records that are kept
MEMBERS = 4  # of a long JSON list
LONG = 400  # bytes: what is shorter stays whole
WHOLE = 0.1  # share of the inputs that are made of the whole file
WHOLE_TEXT = 1800  # bytes of a log in those


def excerpt(name: str, data: bytes, dice: random.Random) -> bytes:
    """Some of the content of a file of this name; the whole of it where its format has no parts."""
    if len(data) <= LONG:
        return data
    kind = mutation_of(name, data).__name__
    if dice.random() < WHOLE:
        return data[:WHOLE_TEXT] if kind == "_text" else data
    if kind == "_json":
        return json.dumps(_fewer(json.loads(data), dice)).encode()
    if kind == "_tfrecord":
        return _records(data, tf_records(data), dice)
    if kind == "_wandb":
        within = [(start, end) for start, end in wandb_records(data) if end <= WANDB_BLOCK]
        return data[: within[min(len(within), 3 * dice.choice(LINES)) - 1][1]] if within else data
    if kind in ("_json_lines", "_cells"):
        return _lines(data, 1, dice)
    if kind == "_yaml":
        return _blocks(data, dice)
    return _lines(data, dice.choice((0, 0, 1, 3)), dice) if kind == "_text" else data


def _fewer(tree: Any, dice: random.Random) -> Any:
    """The tree with a stretch of each long list."""
    if isinstance(tree, dict):
        return {key: _fewer(value, dice) for key, value in tree.items()}
    if not isinstance(tree, list):
        return tree
    start = dice.randrange(max(1, len(tree) - MEMBERS + 1))
    return [_fewer(value, dice) for value in tree[start : start + MEMBERS]]


def _lines(data: bytes, head: int, dice: random.Random) -> bytes:
    """The first `head` lines and a stretch of the others."""
    lines = data.splitlines(keepends=True)
    start = dice.randrange(head, max(len(lines), head + 1))
    return b"".join(lines[:head] + lines[start : start + dice.choice(LINES)])


def _blocks(data: bytes, dice: random.Random) -> bytes:
    """A stretch of the outermost members, each with the lines below it."""
    blocks: list[bytes] = []
    for line in data.splitlines(keepends=True):
        if line[:1] in b" -\r\n" and blocks:
            blocks[-1] += line
        else:
            blocks.append(line)
    start = dice.randrange(len(blocks))
    return b"".join(blocks[start : start + dice.choice(LINES)])


def _records(data: bytes, places: list[tuple[int, int]], dice: random.Random) -> bytes:
    """The record in front, which says what the file is, and a stretch of the others."""
    if len(places) < 2:
        return data
    start = dice.randrange(1, len(places))
    chosen = places[:1] + places[start : start + dice.choice(LINES)]
    return b"".join(data[first:last] for first, last in chosen)
