"""`traindx probe` and a command for each probe: measure the model of a script, or of a file, and say what that means."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from traindx.cli.diagnose import exit_code
from traindx.cli.talk import cannot_write, check_writable, color_wanted, emit, say, width_of
from traindx.errors import EXIT_OK, TraindxError
from traindx.reporters import reporters

if TYPE_CHECKING:
    from traindx.diagnosis import Diagnosis
    from traindx.reading import Reading

KINDS = Path(__file__).parents[1] / "probes" / "kinds"
START = "traindx.probes.script:start"
SCRIPT_OPTIONS = {"allow_interspersed_args": False, "ignore_unknown_options": True}


def kinds() -> dict[str, str]:
    """Every probe's id and the first line of its file, which says what it does; read without importing any of them."""
    found: dict[str, str] = {}
    for path in sorted(KINDS.glob("[a-z]*.py")):
        with path.open(encoding="utf-8") as file:
            found[path.stem.replace("_", "-")] = file.readline().strip().strip('"')
    return found


def register(app: typer.Typer) -> None:
    """One command a probe, and one for all of them."""
    everything = "Measure what a script trains with every probe, change nothing, and diagnose it."
    app.command("probe", help=everything, context_settings=SCRIPT_OPTIONS)(command_for(None))
    for name, summary in kinds().items():
        app.command(name, help=summary, context_settings=SCRIPT_OPTIONS)(command_for(name))


def command_for(name: str | None) -> Callable[..., int]:
    def command(
        arguments: Annotated[
            list[str] | None,
            typer.Argument(metavar="SCRIPT ARGS", help="train.py …, -m package.module …, or -- torchrun … train.py"),
        ] = None,
        at_step: Annotated[int, typer.Option(metavar="N", min=0, help="Let it train N updates first.")] = 0,
        plot: Annotated[Path | None, typer.Option(metavar="FILE.png", help="Draw what was measured.")] = None,
        json: Annotated[Path | None, typer.Option(metavar="FILE", help="Write readings and diagnosis as JSON.")] = None,
        add_to: Annotated[
            Path | None, typer.Option(metavar="RUN.traindx", help="Add the findings to this recording and diagnose it.")
        ] = None,
        model: Annotated[
            str | None, typer.Option(metavar="MODULE:FACTORY", help="Instead of a script: what makes the model.")
        ] = None,
        data: Annotated[
            Path | None, typer.Option(metavar="FILE.pt", help="With --model: a batch, such as (x, y).")
        ] = None,
        checkpoint: Annotated[Path | None, typer.Option(metavar="FILE", help="With --model: its weights.")] = None,
        loss: Annotated[
            str | None,
            typer.Option(metavar="NAME", help="With --model: cross_entropy, mse_loss, …; else by the target."),
        ] = None,
    ) -> int:
        for place in (plot, json):
            check_writable(place)
        if plot is not None:
            from traindx.reporters.figure import require_drawing

            require_drawing()
        wanted = None if name is None else [name]
        if model is not None:
            readings, page = _from_files(wanted, model, data, checkpoint, loss)
            code = EXIT_OK
        else:
            readings, page, code = _from_script(wanted, arguments or [], at_step, add_to)
        _show(readings, page, plot, json)
        return code or exit_code([page])

    return command


def _from_script(
    wanted: list[str] | None, arguments: Sequence[str], at_step: int, add_to: Path | None
) -> tuple[list[Reading], Diagnosis, int]:
    """Run the script until it has been probed, and diagnose what came of it."""
    from traindx.engine import diagnose
    from traindx.live.launch import command_of, launch
    from traindx.readers.find import find_runs
    from traindx.readers.probed import probe_lines, probed_run, readings_in

    if add_to is not None and not (add_to / "rank-0.jsonl").is_file():
        raise TraindxError(f"{add_to} is no recording of traindx.", "Make one with: traindx run train.py")
    what = command_of(arguments)
    with tempfile.TemporaryDirectory(prefix="traindx-probe-") as place:
        folder = Path(place) / "probe.traindx"
        code = launch(what, folder, {"start": START, "probes": wanted, "at_step": at_step})
        readings = readings_in(folder)
        if not readings:
            raise TraindxError(
                f"The script ended with code {code} and made no update that could be probed.",
                f"See whether it trains: traindx run {arguments[0]}",
            )
        if add_to is not None:
            _append(add_to / "rank-0.jsonl", probe_lines(folder))
        run = probed_run(folder) if add_to is None else find_runs([add_to])[0]
        if add_to is None:
            run.source = " ".join(arguments)
        return readings, diagnose(run), code


def _from_files(
    wanted: list[str] | None, model: str, data: Path | None, checkpoint: Path | None, loss: str | None
) -> tuple[list[Reading], Diagnosis]:
    from traindx.engine import diagnose
    from traindx.probes.files import subject_from_files
    from traindx.probes.python import run_of
    from traindx.probes.runner import chosen, run_probes

    if data is None:
        raise TraindxError("--model needs --data.", "Give a batch saved with torch.save((x, y), 'sample.pt').")
    subject = subject_from_files(model, data, checkpoint, loss)
    readings = list(run_probes([subject], chosen(wanted)))
    return readings, diagnose(run_of(readings, model))


def _show(readings: Sequence[Reading], page: Diagnosis, plot: Path | None, json: Path | None) -> None:
    from traindx.reporters.readings import render

    color, width = color_wanted(sys.stdout), width_of(sys.stdout)
    emit(render(readings, color=color, width=width))
    emit(reporters()["text"].render([page], color=color, width=width))
    if json is not None:
        emit(as_json(readings, page), json)
    if plot is not None:
        from traindx.reporters.figure.chart import draw_readings

        try:
            say(f"wrote {draw_readings(readings, plot)}")
        except OSError as error:
            raise cannot_write(plot, error) from error


def as_json(readings: Sequence[Reading], page: Diagnosis) -> str:
    """Readings and the diagnosis in one document."""
    import json

    whole: dict[str, Any] = {
        "schema": "traindx.probe/1",
        "readings": [reading.to_json() for reading in readings],
        "diagnosis": page.to_json(),
    }
    return json.dumps(whole, indent=2) + "\n"


def _append(path: Path, lines: Sequence[str]) -> None:
    try:
        with path.open("a", encoding="utf-8") as file:
            file.writelines(f"{line}\n" for line in lines)
    except OSError as error:
        raise cannot_write(path, error) from error
