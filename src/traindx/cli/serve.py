"""`traindx serve`: all runs below a directory with their health, in a browser."""

from __future__ import annotations

import contextlib
import os
import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from traindx.cli.talk import say
from traindx.errors import EXIT_OK, TraindxError

NICE = 5  # reading many runs must not take the time of the trainings that write them


def command(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Where the runs are.")] = Path(),
    host: Annotated[
        str, typer.Option(metavar="ADDRESS", help="Where to listen; this machine alone by default.")
    ] = "127.0.0.1",
    port: Annotated[
        int | None, typer.Option(metavar="N", min=0, max=65535, help="8377 or the next free one; 0: any.")
    ] = None,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Another name the server goes by, behind a proxy for example."),
    ] = None,
    no_token: Annotated[
        bool, typer.Option("--no-token", help="On this machine, let every user in who knows the port.")
    ] = False,
    open_browser: Annotated[bool, typer.Option("--open", help="Open it in the browser.")] = False,
) -> int:
    """Show all runs below a directory in a browser: health, curves, diagnosis, comparison; live, and read-only."""
    if not folder.is_dir():
        raise TraindxError(f"{folder} is no directory.", "Give the directory your runs are in.")
    from traindx.server.web import address_of, open_server

    with contextlib.suppress(AttributeError, OSError):  # Windows has no such thing
        os.nice(NICE)
    server = open_server(folder, host, port, tuple(name.lower() for name in allow_host or ()), open_here=no_token)
    address = address_of(server)
    say(f"serving {folder} on {address} (Ctrl-C ends it)")
    if open_browser:
        webbrowser.open(address)
    server.dashboard.shelf.start()
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        pass  # how a server is meant to end
    finally:
        server.dashboard.shelf.stop()
        server.server_close()
    return EXIT_OK
