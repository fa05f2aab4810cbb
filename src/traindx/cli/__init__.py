"""The command line: one module a command, thin over the package, and the one place that turns faults into exit codes.

Nothing heavy is imported here: `traindx --help` must answer at once, so commands import what they need when they run.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Annotated

import typer

from traindx.cli import (
    ask,
    cases,
    check,
    checkpoint,
    compare,
    completion,
    diagnose,
    doctor,
    explain,
    fix,
    listing,
    mcp,
    plot,
    probe,
    run,
    serve,
    trial,
    watch,
)
from traindx.cli.manual import Manual, add_examples
from traindx.cli.script_options import SCRIPT_OPTIONS, FaithfulCommand, ScriptCommand
from traindx.cli.talk import EXIT_BROKEN_PIPE, EXIT_INTERRUPTED, Closed, close_quietly, is_terminal, say
from traindx.errors import EXIT_BUG, EXIT_OK, EXIT_UNUSABLE_INPUT, TraindxError
from traindx.secrets import VARIABLE as SCRUB
from traindx.version import __version__

DEBUG_VARIABLE = "TRAINDX_DEBUG"
_OF_PATHS = frozenset({"--runs", "--run", "--log-dir", "--logdir", "--logs"})
NAMED_PATHS = dict.fromkeys(("diagnose", "compare", "plot", "serve", "watch"), _OF_PATHS)
# typer carries its own copy of click or uses the installed one, depending on its version; this finds the right class
_UsageError: type[Exception] = typer.BadParameter.__mro__[1]

app = typer.Typer(
    cls=Manual,
    help="Find out why a training fails: reads any training log, names the symptoms, ranks the causes, gives the fix.",
    epilog="Exit codes: 0 no problem found, 1 a problem found, 2 the input could not be used.",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
app.command("ask")(ask.command)
app.add_typer(cases.app, name="cases")
app.command("checkpoint")(checkpoint.command)
app.command("compare")(compare.command)
app.command("completion")(completion.command)
app.command("diagnose")(diagnose.command)
app.command("doctor")(doctor.command)
app.command("explain")(explain.command)
app.command("list")(listing.command)
app.command("mcp")(mcp.command)
app.command("plot")(plot.command)
app.command("serve")(serve.command)
app.command("watch")(watch.command)
app.command("run", cls=FaithfulCommand, context_settings=SCRIPT_OPTIONS)(run.command)
app.command("fix", cls=ScriptCommand, context_settings=SCRIPT_OPTIONS)(fix.command)
app.command("check", cls=ScriptCommand, context_settings=SCRIPT_OPTIONS)(check.command)
app.command("trial", cls=ScriptCommand, context_settings=SCRIPT_OPTIONS)(trial.command)
probe.register(app)
add_examples(app)


def _version(asked: bool) -> None:
    if asked:
        print(f"traindx {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _root(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
    no_scrub: Annotated[
        bool, typer.Option("--no-scrub", help="Leave tokens, passwords and keys in what is stored and shown.")
    ] = False,
) -> int:
    if no_scrub:
        os.environ[SCRUB] = "off"
    if context.invoked_subcommand is None:
        if is_terminal(sys.stdin) and is_terminal(sys.stdout) and is_terminal(sys.stderr):
            return _offer()
        print(context.get_help())
    return EXIT_OK


def _offer() -> int:
    """Say what lies in this directory and what to type for it; the interview is for when there is nothing."""
    from traindx.cli.here import look_around, offers

    lines = offers(look_around(Path()))
    if not lines:
        return ask.interview()
    more = ["  traindx ask     no log at hand: an interview", "  traindx --help  all commands"]
    print("\n".join(["traindx: why a training fails. Here you can type:", "", *lines, "", *more]))
    return EXIT_OK


@cache
def _commands() -> Callable[..., int | None]:
    """All commands with their options, which typer builds from signatures: tens of milliseconds, once a process."""
    return typer.main.get_command(app)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and give its exit code; every fault ends in one sentence on stderr."""
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    _replace_missing_streams()
    _tolerate_narrow_encodings()
    completion.prepare()
    arguments = plainly(arguments)
    try:
        code = _commands()(args=arguments, prog_name="traindx", standalone_mode=False)
        sys.stdout.flush()
        return int(code or EXIT_OK)
    except TraindxError as error:
        say(str(error))
        return EXIT_UNUSABLE_INPUT
    except _UsageError as error:
        say(_usage(error, arguments))
        return EXIT_UNUSABLE_INPUT
    except (Closed, BrokenPipeError):
        close_quietly()
        return EXIT_BROKEN_PIPE
    except (KeyboardInterrupt, typer.Abort):
        return EXIT_INTERRUPTED
    except Exception as error:
        if os.environ.get(DEBUG_VARIABLE):
            raise
        say(
            f"internal error ({type(error).__name__}: {error}). This is a bug in traindx, not in your run: please "
            f"report it with what the same command prints under {DEBUG_VARIABLE}=1."
        )
        return EXIT_BUG


def plainly(arguments: Sequence[str]) -> list[str]:
    """Words that other tools want before a path and that say nothing here: `compare --runs a/` is `compare a/`."""
    taken = NAMED_PATHS.get(arguments[0], frozenset()) if arguments else frozenset()
    return [word for word in arguments if word not in taken]


def _usage(error: Exception, arguments: Sequence[str]) -> str:
    """What was wrong with the command line, and the help that settles it."""
    message = str(error.format_message() if hasattr(error, "format_message") else error).rstrip()
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else "traindx"
    first = arguments[0] if arguments else ""
    if message.startswith("No such command") and Path(first).exists():
        return f"{message} To diagnose it: traindx diagnose {first}"
    return f"{message} See: {command} --help"


def _replace_missing_streams() -> None:
    """Python has no stream at all where one was closed before it began (`2>&-`): what goes there is for nobody."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115


def _tolerate_narrow_encodings() -> None:
    """A terminal or file that cannot show a braille dot gets a '?', never a crash."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="replace")
