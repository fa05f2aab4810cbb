"""A real client: in the same process for most tests, over a pipe where that matters."""

from __future__ import annotations

import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import anyio
from mcp import Client, StdioServerParameters

from traindx.mcp.roots import Roots
from traindx.mcp.server import build

ResultT = TypeVar("ResultT")
Talk = Callable[[Client], Awaitable[ResultT]]


def inside(roots: list[Path], talk: Talk[ResultT]) -> ResultT:
    """The talk with a server in this process."""
    return _run(build(Roots.of(roots)), talk)


def piped(roots: list[Path], talk: Talk[ResultT]) -> ResultT:
    """The talk with `traindx mcp` as a child, over its stdin and stdout."""
    arguments = ["-m", "traindx", "mcp"]
    for root in roots:
        arguments += ["--root", str(root)]
    return _run(StdioServerParameters(command=sys.executable, args=arguments, env=dict(os.environ)), talk)


def _run(server: Any, talk: Talk[ResultT]) -> ResultT:
    async def whole() -> ResultT:
        async with Client(server) as client:
            return await talk(client)

    return anyio.run(whole)


def call(roots: list[Path], tool: str, **arguments: Any) -> Any:
    """One call of one tool."""
    return inside(roots, lambda client: client.call_tool(tool, arguments))


def said(result: Any) -> str:
    return "\n".join(block.text for block in result.content)
