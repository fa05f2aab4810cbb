"""Options that stand behind the script: `traindx fix train.py --json page.json` means traindx's option, unless the
script has one of that name itself.

Everything behind a script is the script's, as it should be. Only an option that traindx knows and that the script's
source never names is taken for traindx's own; `--` before it leaves it to the script in any case. A script that reads
its options with argparse names them with their dashes; with anything else, any word of its source may be the name of
one."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import typer.core

from traindx.cli.talk import say
from traindx.errors import TraindxError

BUILT_IN = ("--help",)
NEAR = 0.5  # how alike two names must be to be taken for a slip
SCRIPT_OPTIONS = {"allow_interspersed_args": False, "ignore_unknown_options": True}
WORD = re.compile(r"(?<=[\"'])-[A-Za-z]\b|[A-Za-z_][A-Za-z0-9_]*")  # names, and short options where they are quoted
MAX_SOURCE_BYTES = 1_000_000  # bytes of source worth reading
DASHED = re.compile(r"--([A-Za-z][A-Za-z0-9_-]*)")
# what makes options of names in the source: parameters, fields, strings without dashes
BY_NAME = frozenset(
    {"absl", "cappa", "chz", "click", "configurator", "defopt", "draccus", "fire", "HfArgumentParser", "hydra",
     "jsonargparse", "pyrallis",
     "simple_parsing", "tap", "typer", "tyro"}
)  # fmt: skip


class ScriptCommand(typer.core.TyperCommand):
    """A command that takes a script and the script's arguments; one of `parts` may stand before the script."""

    parts: frozenset[str] = frozenset()

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        return super().parse_args(ctx, own_first(args, _options(self), self.parts))


class FaithfulCommand(typer.core.TyperCommand):
    """A command that gives the script whatever stands behind it, and says so where that looks like a slip."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        moved = own_first(args, _options(self))
        slip = next((new for old, new in zip(args, moved, strict=True) if old != new), None)
        if slip is not None:
            say(
                f"{slip} stands behind the script and goes to it; options of traindx come first: traindx {self.name} "
                f"{slip} …"
            )
        _refuse_unknown(self, args)
        return super().parse_args(ctx, args)


def _refuse_unknown(command: typer.core.TyperCommand, arguments: Sequence[str]) -> None:
    """An option in front of the script is one of ours, or a slip."""
    options = _options(command)
    skip = False
    for argument in arguments:
        if skip:
            skip = False
            continue
        name = argument.split("=", 1)[0]
        if not argument.startswith("--") or argument == "--":
            if not argument.startswith("-") or name not in options:
                return  # the script, `-m package.module`, or a command of its own
        elif name not in options and name not in BUILT_IN:
            near = difflib.get_close_matches(name, [*options, *BUILT_IN], 1, NEAR)
            hint = f"did you mean {near[0]}?" if near else f"see traindx {command.name} --help."
            raise TraindxError(f"traindx {command.name} has no option {name}:", hint)
        skip = options.get(name, False) and "=" not in argument


def _options(command: typer.core.TyperCommand) -> dict[str, bool]:
    """The command's options, and whether each takes a value."""
    return {
        name: not getattr(option, "is_flag", False)
        for option in command.params
        for name in (*option.opts, *option.secondary_opts)
        if name.startswith("-")
    }


def own_first(arguments: Sequence[str], options: Mapping[str, bool], parts: frozenset[str] = frozenset()) -> list[str]:
    """The same arguments with traindx's own options before the script. `options`: name → whether it takes a value."""
    places = _script(arguments, options, parts)
    if places is None:
        return list(arguments)
    part, place = places
    words = _names(Path(arguments[place]))
    own: list[str] = []
    theirs: list[str] = []
    rest = list(arguments[place + 1 :])
    while rest:
        argument = rest.pop(0)
        if argument == "--":
            theirs += [argument, *rest]
            break
        name = argument.split("=", 1)[0]
        if name not in options or _spelt(name) in words:
            theirs.append(argument)
            continue
        own.append(argument)
        if options[name] and "=" not in argument and rest:
            own.append(rest.pop(0))
    return [
        *arguments[:part],
        *arguments[part + 1 : place],
        *own,
        *dict.fromkeys(arguments[at] for at in places),
        *theirs,
    ]


def _script(arguments: Sequence[str], options: Mapping[str, bool], parts: frozenset[str]) -> tuple[int, int] | None:
    """Where a part of the command stands, and where the script: the first argument that is neither an option nor an
    option's value nor such a part. Twice the same place where no part is named."""
    skip = False
    part: int | None = None
    for place, argument in enumerate(arguments):
        if skip:
            skip = False
        elif argument == "--":
            return None
        elif argument.startswith("-") and len(argument) > 1:
            skip = options.get(argument, False)
        elif argument in parts and part is None:
            part = place
        else:
            found = argument.endswith(".py") and Path(argument).is_file()
            return (place if part is None else part, place) if found else None
    return None


def _spelt(option: str) -> str:
    """An option as source code has it: the name it gets, or what is quoted."""
    return option[2:].replace("-", "_") if option.startswith("--") else option


def _names(script: Path) -> set[str]:
    """What may be the name of an option of the script, with underscores for dashes."""
    try:
        with script.open(encoding="utf-8", errors="replace") as file:
            text = file.read(MAX_SOURCE_BYTES)
    except OSError:
        return set()
    words = set(WORD.findall(text))
    if "ArgumentParser" in words and not words & BY_NAME:
        return {name.replace("-", "_") for name in DASHED.findall(text)} | {one for one in words if one.startswith("-")}
    return words
