"""`traindx mcp`: the tools for agents, over stdin and stdout."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Annotated

import typer

from traindx.cli.talk import is_terminal, say
from traindx.errors import EXIT_OK, TraindxError


def command(
    root: Annotated[
        list[Path] | None,
        typer.Option(
            "--root", metavar="DIR", help="A directory agents may read runs in; repeatable. Here, if not given."
        ),
    ] = None,
) -> int:
    """Serve diagnose, explain, list, ask, probe, compare and trial to agents (Model Context Protocol, stdio)."""
    if importlib.util.find_spec("mcp") is None:
        raise TraindxError(
            "The Python package mcp, which `traindx mcp` speaks with, is not installed.",
            "Install it with: pip install 'traindx[mcp]'",
        )
    from traindx.mcp.roots import Roots
    from traindx.mcp.server import serve

    roots = Roots.of(root or [Path.cwd()])
    if is_terminal(sys.stdin):
        say(
            "speaks the Model Context Protocol on stdin and stdout; agents start it, see docs/agents.md. Ctrl-C ends "
            "it."
        )
    serve(roots)
    return EXIT_OK
