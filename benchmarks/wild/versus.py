"""The two best other tools on the programs that `run.py` ran, beside traindx.

    python benchmarks/wild/versus.py WORK… --venvs DIR [--only runmedic trainpulse]

They read curves, so they get those of the kept recordings: loss of every step, validation losses, learning rate,
gradient norm. Each has an environment of its own below DIR, made on the first run; that needs a package index. Which
findings stand for which causes is in benchmarks/peers/tools.py: a tool is *near* where the first thing it says stands
for a set of causes with a right one in it, and *right* where that set is one cause. It raises an alarm where it says
anything at all."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from score import Case, Outcome, cases, told_apart

sys.path.append(str(Path(__file__).resolve().parents[1]))
from peers.tools import KIN, MEANS, ask, curves
from traindx.errors import TraindxError
from traindx.readers.find import find_runs

BEST = ("runmedic", "trainpulse")  # by right and near causes on 115 programs and on the zoo
HEAD = (
    "| tool | sound: alarm | harmless: alarm | damaging: fires | right cause first | near misses included "
    "|\n|---|---|---|---|---|---|"
)


def trace(run: Outcome) -> dict[str, Any]:
    try:
        return {"name": str(run.place), **curves(find_runs([run.place / "recording"])[0])}
    except TraindxError:
        return {"name": str(run.place)}


def row(title: str, found: list[Case], said: dict[str, tuple[bool, set[str]]]) -> str:
    """`said`: by run, whether the tool raised an alarm, and the causes that the first thing it said stands for."""
    counts = {
        kind: [run for case in found if case.kind == kind for run in case.runs]
        for kind in ("sound", "harmless", "damaging")
    }

    def share(kind: str, holds: Any) -> str:
        return f"{sum(bool(holds(run, *said[str(run.place)])) for run in counts[kind])}/{len(counts[kind])}"

    def right(run: Outcome, fires: bool, meant: set[str]) -> bool:
        return fires and len(meant) == 1 and bool(meant & wanted(run))

    def near(run: Outcome, fires: bool, meant: set[str]) -> bool:
        return fires and (
            bool(meant & wanted(run)) or (len(meant) == 1 and any(meant & kin and kin & wanted(run) for kin in KIN))
        )

    alarms = [share(kind, lambda run, fires, meant: fires) for kind in ("sound", "harmless", "damaging")]
    return f"| {title} | {' | '.join(alarms)} | {share('damaging', right)} | {share('damaging', near)} |"


def wanted(run: Outcome) -> set[str]:
    return {run.about["cause"], *run.about["also"]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work", type=Path, nargs="+")
    parser.add_argument("--venvs", type=Path, required=True)
    parser.add_argument("--only", nargs="*", default=list(BEST))
    given = parser.parse_args()
    found = [case for case in told_apart(case for work in given.work for case in cases(work)) if case.kind != "broken"]
    runs = [run for case in found for run in case.runs]
    traces = [trace(run) for run in runs]
    print(HEAD)
    print(
        row(
            "traindx", found, {str(run.place): (run.unhealthy, {cause for cause, _ in run.ranking[:1]}) for run in runs}
        ),
        flush=True,
    )
    for tool in given.only:
        told = ask(tool, traces, given.venvs)
        said = {}
        for run in runs:
            findings = told.get(str(run.place), [])
            said[str(run.place)] = (bool(findings), MEANS[tool].get(findings[0][0], set()) if findings else set())
        print(row(tool, found, said), flush=True)


if __name__ == "__main__":
    main()
