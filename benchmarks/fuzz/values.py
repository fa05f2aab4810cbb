"""Values that a field of a file does not expect, and what they do to the tree or the text they are put into."""

from __future__ import annotations

import random
import re
from typing import Any

DEEP: Any = 0
for _ in range(60):
    DEEP = [DEEP]
VALUES: tuple[Any, ...] = (
    None, True, False, [], {}, "", " ", "x" * 3000, -1, 0, 1, -0.0, 1e308, -1e308, 1e-320, 2**31, 2**63, -(2**63) - 1,
    2**200,
    float("nan"), float("inf"), float("-inf"), "NaN", "-Infinity", "1e999", "0x10", "٣", "３", "1,234.5", "0,760",
    "1_000",
    "\ud800", "\x00", "\x1b[31m", "\u202e", "__proto__", "../../etc/passwd", [1, [2, [3]]], {"a": {"b": {"c": []}}},
    [None],
    [[]], [{}], {"": None}, {"value": {"value": 1}}, ["a", 1, None, {}], [1e400], DEEP, "loss", "traceback", "true",
    "[1]", "{", "'",
    "2026-13-45T99:99:99", 10**400, -7.5, [0] * 500,
)  # fmt: skip
_TOKEN = re.compile(r"[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?|[A-Za-z_]+|[:=,\[\]{}()|/;\"']")
_TEXTS = (
    *(value for value in VALUES if isinstance(value, str)),
    "nan", "inf", "-", "1e5", "9" * 400, "-1", "0", "1.2.3", "--", "\r", "\t", "\n", "", "∞", "%", "１２", "१",
    "1e-400", "\ufeff", "²",
)  # fmt: skip


def changed_tree(tree: Any, dice: random.Random) -> Any:
    """The tree with one of its members replaced, taken out, renamed or repeated. It is changed in place."""
    holders = _holders(tree)
    if not holders:
        return dice.choice(VALUES)
    holder = dice.choice(holders)
    place = dice.choice(list(holder) if isinstance(holder, dict) else range(len(holder)))
    action = dice.random()
    if action < 0.6:
        holder[place] = dice.choice(VALUES)
    elif action < 0.75:
        del holder[place]
    elif action < 0.85 and isinstance(holder, dict):
        holder[str(dice.choice(_TEXTS))] = holder.pop(place)
    elif isinstance(holder, list):
        holder.extend([holder[place]] * dice.choice((1, 3, 50)))
    else:
        other = dice.choice(holders)
        holder[place] = {"in": str(other)[:50]} if other is not holder else [holder[place]]
    return tree


def _holders(tree: Any) -> list[Any]:
    """Every list and mapping of the tree that holds anything."""
    found: list[Any] = []
    waiting = [tree]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict | list) and one:
            found.append(one)
            waiting.extend(one.values() if isinstance(one, dict) else one)
    return found


def changed_text(text: str, dice: random.Random) -> str:
    """The text with one to three of its numbers, words or marks replaced, taken out or repeated."""
    for _ in range(dice.choice((1, 1, 3))):
        start = dice.randrange(max(1, len(text)))
        token = _TOKEN.search(text, start)
        if token is None:
            continue
        new = dice.choice((dice.choice(_TEXTS), dice.choice(_TEXTS), "", token.group() * 2, token.group()[::-1]))
        text = text[: token.start()] + new + text[token.end() :]
    return text


def changed_bytes(data: bytes, dice: random.Random) -> bytes:
    """The bytes with bits flipped, a piece taken out, repeated or overwritten, or the end cut off."""
    if not data:
        return dice.randbytes(20)
    changed = bytearray(data)
    place = dice.randrange(len(changed))
    length = dice.choice((1, 4, 8, 64))
    action = dice.random()
    if action < 0.6:
        for _ in range(dice.choice((1, 1, 1, 3, 30))):
            changed[dice.randrange(len(changed))] ^= 1 << dice.randrange(8)
    elif action < 0.7:
        del changed[place:]
    elif action < 0.8:
        del changed[place : place + length]
    elif action < 0.9:
        changed[place:place] = changed[place : place + length]
    else:
        changed[place : place + length] = dice.choice((b"\x00", b"\xff", dice.randbytes(1))) * length
    return bytes(changed)
