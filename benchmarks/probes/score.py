"""What each probe adds to a recording: the share of right top causes, the healthy runs kept healthy, and the seconds it
takes.

    python benchmarks/probes/score.py PROGRAMS --python /path/to/python --work DIR [--jobs N] [--only NAME …]

PROGRAMS is a folder of scripts with a `labels.jsonl` (`case`, `cause`, `alternatives`). Every script is recorded once
to its end and probed once with all probes, `--jobs` of them side by side (times are only comparable with 1). What is
finished is kept in the working folder, so that a score that was broken off goes on where it stopped. Prints what
changed, then the table of docs/probes.md."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from traindx.diagnosis import Diagnosis
from traindx.engine import diagnose
from traindx.errors import TraindxError
from traindx.live.host.launch import launch
from traindx.live.recording.adding import add_readings
from traindx.readers.find import find_runs
from traindx.readers.probed import probed_run, readings_in

START = "traindx.probes.script:start"


@dataclass
class Program:
    case: str
    right: frozenset[str]
    recording: Path
    probed: Path
    seconds: float  # wall time of the whole probing, the script's own start included

    @property
    def healthy(self) -> bool:
        return "healthy" in self.right


def main() -> None:
    options = _options()
    labels = [json.loads(line) for line in (options.programs / "labels.jsonl").read_text().splitlines() if line.strip()]
    labels = [label for label in labels if not options.only or any(name in label["case"] for name in options.only)]
    work = options.work
    with ProcessPoolExecutor(
        options.jobs, initializer=_hush
    ) as pool:  # processes, because a launch sets signal handlers
        programs = list(pool.map(partial(_run, options), labels))
    kinds = sorted({reading.probe for program in programs for reading in readings_in(program.probed)})
    seconds = [program.seconds for program in programs]
    table = [
        "| evidence | right cause first | confidence in it | healthy kept | seconds, median / most |",
        "|---|---|---|---|---|",
    ]
    for name, pages_with in (("the first updates, recorded", _early), ("a recording of the whole training", _with)):
        before = [pages_with(program, [], work) for program in programs]
        table.append(_row(name, programs, before, []))
        for kind in kinds:
            after = [pages_with(program, [kind], work) for program in programs]
            times = [r.seconds for program in programs for r in readings_in(program.probed) if r.probe == kind]
            table.append(_row(f"the same + `{kind}`", programs, after, times))
            _changes(f"{name} + {kind}", programs, before, after)
        after = [pages_with(program, kinds, work) for program in programs]
        table.append(_row("the same + all probes", programs, after, seconds))
        _changes(f"{name} + all probes", programs, before, after)
    print("\n".join(table))


def _options() -> Any:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", type=Path)
    parser.add_argument("--python", default="python")
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--again", action="store_true", help="probe again, even where readings are there")
    return parser.parse_args()


def _hush() -> None:
    """The scripts' own output is of no interest here."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def _run(options: Any, label: dict[str, Any]) -> Program:
    case, work = label["case"], options.work
    command = [options.python, str(options.programs / case / "train.py")]
    recording, probed, took = work / f"{case}.traindx", work / f"{case}.probed.traindx", work / f"{case}.seconds"
    if options.again:
        shutil.rmtree(probed, ignore_errors=True)
    _once(command, recording, {"budget": 0.01, "steps": None})
    began = time.monotonic()
    if _once(command, probed, {"start": START}):
        took.write_text(str(time.monotonic() - began))
    right = frozenset({label["cause"], *label.get("alternatives", [])})
    return Program(case, right, recording, probed, float(took.read_text()))


def _once(command: list[str], folder: Path, options: dict[str, Any]) -> bool:
    """Record it, unless that was done before; what is there under its name is whole."""
    if folder.exists():
        return False
    part = folder.parent / "unfinished" / folder.name
    shutil.rmtree(part, ignore_errors=True)
    launch(command, part, options)
    part.rename(folder)
    return True


def _diagnose(folder: Path) -> Diagnosis | None:
    try:
        return diagnose(find_runs([folder])[0])
    except TraindxError:
        return None


def _early(program: Program, kinds: Sequence[str], work: Path) -> Diagnosis:
    """What the few updates that a probe lets pass show, with these probes."""
    together = work / f"{program.case}.early.traindx"
    shutil.rmtree(together, ignore_errors=True)
    together.mkdir()
    lines = (program.probed / "rank-0.jsonl").read_text(encoding="utf-8").splitlines()
    kept = [line for line in lines if json.loads(line).get("probe") in (None, *kinds)]
    (together / "rank-0.jsonl").write_text("\n".join(kept) + "\n", encoding="utf-8")
    return diagnose(probed_run(together))


def _with(program: Program, kinds: Sequence[str], work: Path) -> Diagnosis | None:
    """The recording as `--add-to` leaves it after these probes."""
    together = work / f"{program.case}.together.traindx"
    shutil.rmtree(together, ignore_errors=True)
    shutil.copytree(program.recording, together)
    add_readings(together, [reading for reading in readings_in(program.probed) if reading.probe in kinds])
    return _diagnose(together)


def _verdict(program: Program, page: Diagnosis | None) -> tuple[bool, str]:
    if page is None:
        return False, "no diagnosis"
    top = "healthy" if page.verdict == "healthy" else page.hypotheses[0].cause
    return (page.verdict != "unhealthy" if program.healthy else page.verdict == "unhealthy" and top in program.right), (
        f"{page.verdict} {top}"
    )


def _row(name: str, programs: Sequence[Program], pages: Sequence[Diagnosis | None], times: Sequence[float]) -> str:
    judged = [(program, _verdict(program, page)[0]) for program, page in zip(programs, pages, strict=True)]
    sick = [right for program, right in judged if not program.healthy]
    well = [right for program, right in judged if program.healthy]
    took = f"{statistics.median(times):.2g} / {max(times):.2g}" if times else ""
    sure = _confidence(programs, pages)
    return f"| {name} | {sum(sick)} of {len(sick)} | {sure:.2f} | {sum(well)} of {len(well)} | {took} |"


def _confidence(programs: Sequence[Program], pages: Sequence[Diagnosis | None]) -> float:
    """The mean probability that the right causes get together, over the faulty programs."""
    found = [
        sum(hypothesis.confidence for hypothesis in page.hypotheses if hypothesis.cause in program.right)
        for program, page in zip(programs, pages, strict=True)
        if page is not None and not program.healthy
    ]
    return statistics.mean(found) if found else 0.0


def _changes(
    what: str, programs: Sequence[Program], before: Sequence[Diagnosis | None], after: Sequence[Diagnosis | None]
) -> None:
    for program, old, new in zip(programs, before, after, strict=True):
        (was, first), (now, second) = _verdict(program, old), _verdict(program, new)
        if was != now:
            right = "/".join(sorted(program.right))
            print(f"{what} {'gained' if now else 'lost'} {program.case} ({right}): {first} → {second}", flush=True)


if __name__ == "__main__":
    main()
