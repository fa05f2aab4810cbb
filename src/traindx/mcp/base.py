"""What a tool is. One module a tool; a module that defines TOOL is registered by being there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from mcp_types import CallToolResult

from traindx.mcp.session_state import SessionState

Function = Callable[..., "CallToolResult | Any"]


@dataclass(frozen=True)
class Tool:
    """`make` gives the function the client calls: its signature and docstring are the tool's. `runs_code` is for tools
    that run the user's script: those are not read-only, and nobody but the user knows what the script writes or sends.
    `remembers` is for tools that write into the case book: those are read-only where it is off."""

    id: str
    title: str
    make: Callable[[SessionState], Function]
    runs_code: bool = False
    remembers: bool = False
