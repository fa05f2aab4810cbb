"""Progress of work in a thread, sent to the client."""

from __future__ import annotations

from collections.abc import Callable

import anyio.from_thread
from mcp.server.mcpserver import Context


def reporter(context: Context) -> Callable[[str, int, int], None]:
    """Takes what is done, how much and of how much; reports every percent at most: never a flood."""
    last = [""]

    def tell(label: str, done: int, total: int) -> None:
        share = round(done / total, 2) if total else 0.0
        # readers name the file they are at; that is no news to whoever named it
        name = f"{label if ' ' in label or label == 'diagnosing' else 'reading'} {share:.0%}"
        if name != last[0]:
            last[0] = name
            anyio.from_thread.run(context.report_progress, share, 1.0, name)

    return tell
