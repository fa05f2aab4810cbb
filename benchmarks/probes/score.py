"""What each probe adds to a recording: the share of right top causes, the healthy runs kept healthy, and the seconds it takes.

    python benchmarks/probes/score.py PROGRAMS --python /path/to/python --work DIR [--only NAME …]

PROGRAMS is a folder of scripts with a `labels.jsonl` (`case`, `cause`, `alternatives`). Every script is recorded once to its end and
probed once with all probes; recordings that are already in the working folder are used again.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from traindx.diagnosis import Diagnosis
from traindx.engine import diagnose
from traindx.errors import TraindxError
from traindx.live.launch import launch
from traindx.readers.find import find_runs
from traindx.readers.probed import probe_lines, probed_run, readings_in

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
    programs = []
    for label in labels:
        if options.only and not any(name in label["case"] for name in options.only):
            continue
        programs.append(_run(label, options.programs, options.work, options.python, options.again))
    kinds = sorted({reading.probe for program in programs for reading in readings_in(program.probed)})
    print(
        f"{'evidence':28} {'top cause right':>16} {'confidence':>10} {'healthy kept':>13} {'median s':>9} {'most s':>7}"
    )
    seconds = [program.seconds for program in programs]
    early = [_early(program, [], options.work) for program in programs]
    _row("8 updates", programs, early, [])
    for kind in kinds:
        _row(f"8 updates + {kind}", programs, [_early(program, [kind], options.work) for program in programs], [])
    probed = [_early(program, kinds, options.work) for program in programs]
    _row("8 updates + all probes", programs, probed, seconds)
    _changes(programs, early, probed)
    base = [_diagnose(program.recording) for program in programs]
    _row("recording", programs, base, [])
    for kind in kinds:
        pages = [_with(program, [kind], options.work) for program in programs]
        times = [r.seconds for program in programs for r in readings_in(program.probed) if r.probe == kind]
        _row(f"recording + {kind}", programs, pages, times)
        _changes(programs, base, pages)
    everything = [_with(program, kinds, options.work) for program in programs]
    _row("recording + all probes", programs, everything, seconds)
    _changes(programs, base, everything)


def _options() -> Any:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", type=Path)
    parser.add_argument("--python", default="python")
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--again", action="store_true", help="probe again, even where readings are there")
    return parser.parse_args()


def _run(label: dict[str, Any], programs: Path, work: Path, python: str, again: bool) -> Program:
    case = label["case"]
    script = str(programs / case / "train.py")
    recording, probed, took = work / f"{case}.traindx", work / f"{case}.probed.traindx", work / f"{case}.seconds"
    if not recording.exists():
        launch([python, script], recording, {"budget": 0.01, "steps": None})
    if again or not probed.exists():
        shutil.rmtree(probed, ignore_errors=True)
        began = time.monotonic()
        launch([python, script], probed, {"start": START})
        took.write_text(str(time.monotonic() - began))
    right = frozenset({label["cause"], *label.get("alternatives", [])})
    return Program(case, right, recording, probed, float(took.read_text()))


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
    lines = [line for line in probe_lines(program.probed) if json.loads(line).get("probe") in kinds]
    with (together / "rank-0.jsonl").open("a", encoding="utf-8") as file:
        file.writelines(f"{line}\n" for line in lines)
    return _diagnose(together)


def _verdict(program: Program, page: Diagnosis | None) -> tuple[bool, str]:
    if page is None:
        return False, "no diagnosis"
    top = "healthy" if page.verdict == "healthy" else page.hypotheses[0].cause
    return (page.verdict != "unhealthy" if program.healthy else page.verdict == "unhealthy" and top in program.right), (
        f"{page.verdict} {top}"
    )


def _row(name: str, programs: Sequence[Program], pages: Sequence[Diagnosis | None], times: Sequence[float]) -> None:
    judged = [(program, _verdict(program, page)[0]) for program, page in zip(programs, pages, strict=True)]
    sick = [right for program, right in judged if not program.healthy]
    well = [right for program, right in judged if program.healthy]
    middle = f"{statistics.median(times):9.1f} {max(times):7.1f}" if times else f"{'':9} {'':7}"
    print(
        f"{name:28} {sum(sick):>8} of {len(sick):<4} {_confidence(programs, pages):10.2f} {sum(well):>6} of {len(well):<3} {middle}",
        flush=True,
    )


def _confidence(programs: Sequence[Program], pages: Sequence[Diagnosis | None]) -> float:
    """The mean probability that the right causes get together, over the faulty programs."""
    found = [
        sum(hypothesis.confidence for hypothesis in page.hypotheses if hypothesis.cause in program.right)
        for program, page in zip(programs, pages, strict=True)
        if page is not None and not program.healthy
    ]
    return statistics.mean(found) if found else 0.0


def _changes(
    programs: Sequence[Program], before: Sequence[Diagnosis | None], after: Sequence[Diagnosis | None]
) -> None:
    for program, old, new in zip(programs, before, after, strict=True):
        (was, first), (now, second) = _verdict(program, old), _verdict(program, new)
        if was != now:
            print(
                f"    {'gained' if now else 'lost'}: {program.case} ({'/'.join(sorted(program.right))}): {first} → {second}"
            )


if __name__ == "__main__":
    main()
