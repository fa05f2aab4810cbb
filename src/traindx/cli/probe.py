"""`traindx probe` and a command for each probe: measure the model of a script, or of a file, and say what that
means."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from traindx.cli import batch
from traindx.cli.diagnose import Format, Output, Verbose, exit_code, reporter_for, with_patches
from traindx.cli.readings import AddTo, Json, Plot, as_json, check_places, draw, show
from traindx.cli.remembering import remembered
from traindx.cli.script_options import SCRIPT_OPTIONS, ScriptCommand
from traindx.cli.talk import emit
from traindx.errors import EXIT_OK, TraindxError

if TYPE_CHECKING:
    from traindx.diagnosis import Diagnosis
    from traindx.reading import Reading
    from traindx.run import Run

KINDS = Path(__file__).parents[1] / "probes" / "kinds"
START = "traindx.probes.script:start"


def kinds() -> dict[str, str]:
    """Every probe's id and the first line of its file, which says what it does; read without importing any of them."""
    found: dict[str, str] = {}
    for path in sorted(KINDS.glob("[a-z]*.py")):
        with path.open(encoding="utf-8") as file:
            found[path.stem.replace("_", "-")] = file.readline().strip().strip('"')
    return found


class ProbeCommand(ScriptCommand):
    parts = frozenset((batch.NAME, *kinds()))


def register(app: typer.Typer) -> None:
    """One command a probe, and one for all of them."""
    everything = "Measure what a script trains with every probe, change nothing, and diagnose it."
    app.command("probe", help=everything, cls=ProbeCommand, context_settings=SCRIPT_OPTIONS)(command_for(None))
    for name, summary in kinds().items():
        app.command(name, help=summary, cls=ScriptCommand, context_settings=SCRIPT_OPTIONS)(command_for(name))


def command_for(name: str | None) -> Callable[..., int]:
    def command(
        arguments: Annotated[
            list[str] | None,
            typer.Argument(metavar="SCRIPT ARGS", help="train.py …, -m package.module …, or -- torchrun … train.py"),
        ] = None,
        at_step: Annotated[int, typer.Option(metavar="N", min=0, help="Let it train N updates first.")] = 0,
        seconds: Annotated[
            float | None,
            typer.Option(metavar="S", min=1, help="Time for the probes, more or less than they take by themselves."),
        ] = None,
        format: Format = None,
        output: Output = None,
        verbose: Verbose = False,
        plot: Plot = None,
        json: Json = None,
        add_to: AddTo = None,
        model: Annotated[
            str | None, typer.Option(metavar="MODULE:FACTORY", help="Instead of a script: what makes the model.")
        ] = None,
        data: Annotated[
            Path | None, typer.Option(metavar="FILE", help="With --model: a batch (x, y) as .pt, .npz or .csv.")
        ] = None,
        checkpoint: Annotated[Path | None, typer.Option(metavar="FILE", help="With --model: its weights.")] = None,
        loss: Annotated[
            str | None,
            typer.Option(metavar="NAME", help="With --model: cross_entropy, mse_loss, …; else by the target."),
        ] = None,
        private: Annotated[
            bool, typer.Option("--private", help="With batch: show what each token is, not its text.")
        ] = False,
    ) -> int:
        reporter = reporter_for(format, output, verbose)
        check_places(output, plot, json, add_to)
        chosen, arguments = _chosen(name, arguments)
        if chosen == batch.NAME:
            return batch.probe_batch(arguments or [], private, reporter, output, json)
        wanted = None if chosen is None else [chosen]
        if model is not None:
            refuse_both(arguments, at_step)
            readings, run, page = _from_files(wanted, seconds, model, data, checkpoint, loss, add_to)
            code = EXIT_OK
        else:
            if data or checkpoint or loss:
                raise TraindxError(
                    "--data, --checkpoint and --loss need --model.",
                    "A checkpoint holds weights and no program: add --model package.module:function_or_class, which "
                    "makes the model, or give the script itself: train.py. Data: .pt, .npz, .csv; weights: .pt or "
                    ".safetensors.",
                )
            readings, run, page, code = _from_script(wanted, seconds, arguments or [], at_step, add_to)
        show(readings, page, reporter, output, run, verbose)
        if json is not None:
            emit(as_json(readings, page), json)
        if plot is not None:
            draw(readings, plot)
        return code or exit_code([page])

    return command


def _chosen(name: str | None, arguments: list[str] | None) -> tuple[str | None, list[str] | None]:
    """`traindx probe batch train.py`, `traindx probe speed train.py`: one of them by its name."""
    first = arguments[0] if arguments else ""
    if name is None and arguments and first in ProbeCommand.parts and not Path(first).exists():
        return first, arguments[1:]
    return name, arguments


def refuse_both(arguments: list[str] | None, at_step: int) -> None:
    if arguments or at_step:
        raise TraindxError("With --model no script runs.", "Leave out the script and --at-step, or --model.")


def readings_of_script(wanted: list[str], arguments: Sequence[str]) -> list[Reading]:
    """What these probes measure in a script."""
    return _from_script(wanted, None, arguments, 0, None)[0]


def _from_script(
    wanted: list[str] | None, seconds: float | None, arguments: Sequence[str], at_step: int, add_to: Path | None
) -> tuple[list[Reading], Run, Diagnosis, int]:
    """Run the script until it has been probed, and diagnose what came of it."""
    from traindx.live.host.launch import command_of, launch
    from traindx.readers.probed import probed_run, readings_in

    what = command_of(arguments)
    options = {"start": START, "probes": wanted, "at_step": at_step, "seconds": seconds}
    with tempfile.TemporaryDirectory(prefix="traindx-probe-") as place:
        folder = Path(place) / "probe.traindx"
        code = launch(what, folder, options)
        readings = readings_in(folder)
        if not readings:
            raise TraindxError(
                f"The script ended with code {code} and made no update that could be probed.",
                f"See whether it trains: traindx run {arguments[0]}",
            )
        run = probed_run(folder)
        run.source = " ".join(arguments)
        run, page = _diagnosed(run, readings, add_to)
        return readings, run, with_patches(run, page), code


def _from_files(
    wanted: list[str] | None, seconds: float | None, model: str, data: Path | None, checkpoint: Path | None,
    loss: str | None, add_to: Path | None,
) -> tuple[list[Reading], Run, Diagnosis]:  # fmt: skip
    from traindx.probes.files import subject_from_files
    from traindx.probes.python import run_of
    from traindx.probes.runner import chosen, run_probes

    if data is None:
        raise TraindxError("--model needs --data.", "Give a batch: torch.save((x, y), 'sample.pt'), .npz or .csv.")
    subject = subject_from_files(model, data, checkpoint, loss)
    readings = list(run_probes([subject], chosen(wanted), seconds))
    return readings, *_diagnosed(run_of(readings, model), readings, add_to)


def _diagnosed(run: Run, readings: Sequence[Reading], add_to: Path | None) -> tuple[Run, Diagnosis]:
    """The run and what the probes show; together with what the recording holds, where they are added to one."""
    from traindx.engine import diagnose
    from traindx.live.recording.adding import add_readings
    from traindx.opening import read

    if add_to is not None:
        add_readings(add_to, readings)
        run = read(add_to)[0]
    return run, remembered(diagnose(run), "probe", lambda hints: diagnose(run, hinted=hints))
