"""`traindx completion`: a script that lets the shell complete commands and options. It is printed; no dotfile is
touched."""

from __future__ import annotations

import os
from enum import StrEnum
from typing import Annotated

import typer

from traindx.cli.talk import emit
from traindx.errors import EXIT_OK

PROGRAM = "traindx"
VARIABLE = "_TRAINDX_COMPLETE"  # how the script asks; the name is typer's


class Shell(StrEnum):
    """The shells there is a script for."""

    bash = "bash"
    zsh = "zsh"
    fish = "fish"


def command(shell: Annotated[Shell, typer.Argument(help="Your shell.")]) -> int:
    """Print the script that completes traindx in your shell."""
    from typer.completion import get_completion_script  # type: ignore[attr-defined]  # typer has no public name for it

    emit(get_completion_script(prog_name=PROGRAM, complete_var=VARIABLE, shell=shell.value) + "\n")
    return EXIT_OK


def prepare() -> None:
    """A shell that asks for completions must find them; nobody else pays for it."""
    if VARIABLE in os.environ:
        from typer.completion import completion_init  # type: ignore[attr-defined]

        completion_init()
