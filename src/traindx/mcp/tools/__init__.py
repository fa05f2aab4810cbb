"""The tools, one file each."""

from __future__ import annotations

from functools import cache

from traindx.mcp.base import Tool
from traindx.registry import load_units


@cache
def tools() -> dict[str, Tool]:
    """Every tool by its name."""
    return load_units(__name__, __path__, "TOOL", Tool)
