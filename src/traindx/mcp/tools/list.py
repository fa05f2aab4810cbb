"""`list`: the catalogue, page by page."""

from __future__ import annotations

from typing import Annotated, Literal

from mcp_types import CallToolResult
from pydantic import Field
from typing_extensions import TypedDict

from traindx.mcp.answers import answer
from traindx.mcp.base import Function, Tool
from traindx.mcp.session_state import SessionState, page_of, place_of
from traindx.reporters.catalogue import entries

PAGE = 25


class Entry(TypedDict):
    """One unit of the catalogue."""

    id: str
    title: str
    group: str


class ListAnswer(TypedDict):
    """One page of the catalogue."""

    what: str
    total: int
    entries: list[Entry]
    next_cursor: str | None


def make(state: SessionState) -> Function:
    def list_catalogue(
        what: Annotated[Literal["causes", "symptoms", "fixes"], Field(description="Which part of it.")] = "causes",
        contains: Annotated[str, Field(description="Only entries whose id, title or group holds these words.")] = "",
        limit: Annotated[int, Field(ge=1, le=50, description="Entries on one page.")] = PAGE,
        cursor: Annotated[str | None, Field(description="`next_cursor` of the answer before.")] = None,
    ) -> Annotated[CallToolResult, ListAnswer]:
        """List the causes, symptoms or fixes traindx knows, with their ids for `explain`."""
        words = contains.lower().split()
        found = [
            Entry(id=entry["id"], title=entry["title"], group=entry["group"])
            for entry in entries(what)
            if all(word in f"{entry['id']} {entry['title']} {entry['group']}".lower() for word in words)
        ]
        start = 0 if cursor is None else place_of(cursor)[1]
        shown, after = page_of(found, start, limit)
        following = None if after is None else f"{what}.{after}"
        lines = [f"{len(found)} {what}" + (f", {start + 1} to {start + len(shown)}:" if shown else ".")]
        lines += [f"{entry['id']}: {entry['title']}" for entry in shown]
        lines += [] if following is None else [f"more: cursor {following}"]
        return answer(ListAnswer(what=what, total=len(found), entries=[*shown], next_cursor=following), lines)

    return list_catalogue


TOOL = Tool("list", "List causes, symptoms or fixes", make)
