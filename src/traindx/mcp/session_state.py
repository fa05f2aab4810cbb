"""What a server remembers between calls: the allowed directories, the rest of long answers, interviews under way."""

from __future__ import annotations

import secrets
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from traindx.errors import TraindxError
from traindx.mcp.roots import Roots

KEPT = 16  # long answers and interviews that are remembered; the least recently used one goes first
MAX_ENTRIES = 50  # entries on one page, whatever was asked
ThingT = TypeVar("ThingT")


@dataclass
class Shelf(Generic[ThingT]):
    """Things kept under short tokens, the oldest dropped."""

    noun: str
    things: OrderedDict[str, ThingT] = field(default_factory=OrderedDict)

    def put(self, thing: ThingT) -> str:
        token = secrets.token_hex(4)
        self.things[token] = thing
        while len(self.things) > KEPT:
            self.things.popitem(last=False)
        return token

    def get(self, token: str) -> ThingT:
        if token not in self.things:
            raise TraindxError(f"{self.noun} {token!r} is not known (any more).", f"Start again without `{self.noun}`.")
        self.things.move_to_end(token)
        return self.things[token]


@dataclass
class SessionState:
    """Handed to every tool."""

    roots: Roots
    answers: Shelf[Sequence[object]] = field(default_factory=lambda: Shelf("cursor"))
    interviews: Shelf[object] = field(default_factory=lambda: Shelf("session"))


def page_of(entries: Sequence[ThingT], start: int, limit: int) -> tuple[Sequence[ThingT], int | None]:
    """At most `limit` entries from `start` on, and where the next page starts."""
    if limit < 1:
        raise TraindxError(f"limit is {limit}.", f"Give a number from 1 to {MAX_ENTRIES}.")
    stop = start + min(limit, MAX_ENTRIES)
    return entries[start:stop], stop if stop < len(entries) else None


def place_of(cursor: str) -> tuple[str, int]:
    """A cursor's token and place. Raises TraindxError for what no answer of ours contained."""
    token, dot, place = cursor.partition(".")
    if not dot or not place.isdecimal():
        raise TraindxError(f"cursor {cursor!r} is none of ours.", "Give `next_cursor` of the answer before, unchanged.")
    return token, int(place)
