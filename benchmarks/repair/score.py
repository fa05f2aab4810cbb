"""Scores `traindx fix` on training scripts with one known fault each, and their healthy twins.

    python benchmarks/repair/score.py [PROGRAMS] --results results.jsonl [--zoo 60] [--jobs 2] [--minutes 9] [--only
    NAME…]

PROGRAMS holds `labels.jsonl` (case, cause, healthy_twin) and a folder for each case with `train.py` in it; the scripts
belong to their authors and are not part of this repository. `--zoo N` adds N trainings of the fault zoo, from a seed
that nothing was fitted on, each run by specimen.py with the fault or without. Run it with an interpreter that has torch
and whatever the scripts need besides traindx.

Results are appended as cases are done, and arms are kept beside them (`results.jsonl.arms`): a sitting that is cut
short, or that ends itself after `--minutes`, is continued by the same command. Nothing is run twice.

A case is repaired if its change clears a symptom of it and brings the whole training, on a seed that was not used to
choose it, to within
a tenth of the healthy twin's measure (validation where there is one; log loss, or squared error over variance; both
arms measured the
same way). Fixable is a case whose cause has a fix in the catalogue that names a change, whatever the diagnosis says; a
fault of degree
that leaves the training within a tenth of its twin is none, and is left out. Held is a change whose error on
fresh seeds is not more than a fiftieth larger, harmful one whose error there is more than a twentieth larger; a column
beside them counts
the harmful ones whose fault is gone and whose twin is reached, so that scatter may be the reason. Beside `traindx fix`
stand, on the same scripts and with no
more arms than it used:
  random      as many changes drawn at random from all that the catalogue can try, of which the one with the least error
  is taken
  lr/10       a tenth of the learning rate
  autotrainer the repairs that AutoTrainer (Zhang et al., ICSE 2021) lists for the symptoms that are present, as far as
  they can be
              made in PyTorch, of which the one with the least error is taken
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "src"))

from cases import HEALTHY, ZOO, Case, from_directory, from_zoo
from kept import Kept

from traindx.fixes import fixes
from traindx.trials.executors import Local
from traindx.trials.fixing import Asked, fix
from traindx.trials.measure import Metric, metric_for
from traindx.trials.outcome import Arm, Trial, judged
from traindx.trials.plan import Candidate
from traindx.trials.session import Limits, Session
from traindx.trials.setting import at_run_time, combined
from traindx.trials.workspace import Project

SOURCE = Path(__file__).resolve().parents[2] / "src"
WITHIN = 1.1
FRESH = 100  # the first seed that no choice has seen
CHANCE_SEED = 20
AS_LARGE = 0.02  # logarithm of an error on fresh seeds that is no larger
LARGER = math.log(1.05)  # and of one that is
AUTOTRAINER = {
    "vanishing-gradients": ("activation=relu", "init=fan_in"),
    "exploding-gradients": ("clip=1.0", "init=fan_in", "activation=relu"),
    "nonfinite-gradient": ("clip=1.0", "init=fan_in"),
    "dead-units": ("activation=leaky", "init=fan_in"),
    "oscillation": ("lr=x0.1", "batch_size=x2", "momentum=0.9"),
    "loss-spike": ("lr=x0.1", "batch_size=x2", "momentum=0.9"),
    "slow-convergence": ("lr=x10", "momentum=0.9"),
    "plateau": ("lr=x10", "momentum=0.9"),
}


def change(text: str) -> Candidate:
    return Candidate(text, text, "", combined(text))


def all_changes() -> list[str]:
    """Every change of the catalogue that can be made at run time."""
    texts = {text for one in fixes().values() for text in one.tries if "{" not in text}
    texts |= {"warmup=50", "decay=1000"}
    return sorted(text for text in texts if at_run_time(combined(text)))


class OutOfTime(BaseException):
    """The sitting is over; what was not finished is finished in the next."""


@dataclass(frozen=True)
class Sitting:
    budget: float  # seconds of one `traindx fix`, and of one arm at full length
    fresh: int  # pairs on seeds that no choice has seen
    arms: Path  # where arms are kept
    at_once: int
    ends: float  # by the clock of the machine


@dataclass(frozen=True)
class Benched(Asked):
    """`traindx fix` as a user calls it, with its arms kept."""

    kept: Path = Path()

    def session(self, tell: Callable[[str], None]) -> Session:
        session = super().session(tell)
        session.executor = Kept(session.executor, self.kept)
        return session


def whole(script: Path, arguments: Sequence[str], sitting: Sitting, kept: Path) -> Session:
    """Arms of a script at its full length."""
    project = Project(script.parent, script.parent)
    command = [sys.executable, script.name, *arguments]
    limits = Limits(None, sitting.budget, 1e9)
    return Session(project, command, Kept(Local(sitting.at_once), kept), limits, lambda text: None)


def error_of(arm: Arm, metric: Metric) -> float:
    value = arm.measured.value(metric) if arm.measured is not None and arm.failed is None else math.inf
    return math.inf if math.isnan(value) else value


def reaches(session: Session, candidate: Candidate | None, twin: Arm) -> bool:
    """Whether a change clears a symptom and brings the script to its twin's measure, on a fresh seed."""
    if candidate is None:
        return False
    before, after = session.arm(None, FRESH), session.arm(candidate, FRESH)
    if before.measured is None or after.measured is None or twin.measured is None or after.failed:
        return False
    return bool(set(before.present()) & after.absent()) and as_good(after, twin, candidate)


def as_good(arm: Arm, twin: Arm, candidate: Candidate | None = None) -> bool:
    """Within a tenth of the twin; and no better than it where a measure that flatters is what was wrong."""
    if arm.measured is None or twin.measured is None:
        return False
    judged_by = "error" if candidate is None or candidate.judged == "symptom" else candidate.judged
    metric = metric_for(twin.measured, arm.measured, judged_by)
    if metric is None:
        return False
    goal, value = error_of(twin, metric), error_of(arm, metric)
    honest = candidate is None or candidate.judged != "symptom" or value >= goal / WITHIN
    return honest and value + metric.floor <= WITHIN * (goal + metric.floor)


def least_error(session: Session, texts: Sequence[str]) -> Candidate | None:
    """What somebody without a diagnosis takes: the change with the least error on one seed, if it is less than
    without."""
    base = session.arm(None, 0)
    best: tuple[float, Candidate | None] = (math.inf, None)
    for text in texts:
        arm = session.arm(change(text), 0)
        if base.measured is None or arm.measured is None or arm.failed:
            continue
        metric = metric_for(base.measured, arm.measured)
        if metric is not None and error_of(arm, metric) < min(best[0], error_of(base, metric)):
            best = (error_of(arm, metric), change(text))
    return best[1]


def examine(case: Case, sitting: Sitting) -> dict[str, Any]:
    kept = sitting.arms / case.name
    with tempfile.TemporaryDirectory(prefix="traindx-repair-") as place:
        script = case.program.put(Path(place) / "case")
        os.chdir(script.parent)
        arguments = list(case.program.arguments)
        asked = Benched(
            [script.name, *arguments], budget=sitting.budget, jobs=sitting.at_once, kept=kept / "script"
        )  # fmt: skip
        report, _, _ = fix(asked, lambda text: None)
        best = report.best
        row: dict[str, Any] = {
            "case": case.name, "source": case.source, "cause": case.cause, "fixable": case.fixable,
            "verdict": report.page.verdict,
            "first": next((h.cause for h in report.page.hypotheses if h.cause not in (HEALTHY, "other")), None),
            "best": None if best is None else best.candidate.fix,
            "change": None if best is None else best.candidate.change,
            "diff": bool(report.diff), "trials": [[t.candidate.fix, t.candidate.change,
                                                   t.verdict] for t in report.trials],
        }  # fmt: skip
        session = whole(script, arguments, sitting, kept / "script")
        row |= chance(session)
        row |= cost(session, script, arguments)
        if best is not None:
            row |= on_fresh_seeds(session, best, sitting.fresh)
        if case.twin is not None:
            twin_script = case.twin.put(Path(place) / "twin")
            twin = whole(twin_script, case.twin.arguments, sitting, kept / "twin").arm(None, FRESH)
            row |= beside(session, twin, case, len(report.trials))
            row["repaired"] = reaches(session, None if best is None else best.candidate, twin)
    return row


def beside(session: Session, twin: Arm, case: Case, tried: int) -> dict[str, Any]:
    """The same script in other hands, with as many arms."""
    arms = max(1, tried)
    drawn = random.Random(case.name).sample(all_changes(), arms)
    listed = [text for symptom in session.arm(None, 0).present() for text in AUTOTRAINER.get(symptom, ())]
    return {
        "ill": not (case.of_degree and as_good(session.arm(None, FRESH), twin)),
        "random": reaches(session, least_error(session, drawn), twin),
        "lr/10": reaches(session, change("lr=x0.1"), twin),
        "autotrainer": reaches(session, least_error(session, list(dict.fromkeys(listed))[:arms]), twin),
    }


def cost(session: Session, script: Path, arguments: Sequence[str]) -> dict[str, Any]:
    """An arm at full length against the script alone, from start to end, one after the other; kept with the arms, since
    the machine may be another one when the results are judged anew."""
    assert isinstance(session.executor, Kept)
    kept = session.executor.folder / "cost.json"
    if not kept.exists():
        session.arm(None, FRESH)
        began = time.monotonic()
        bare = subprocess.run(
            [sys.executable, script.name, *arguments], cwd=script.parent, capture_output=True, check=False
        )
        seconds = time.monotonic() - began
        arm = session.executor.seconds(session.job(None, FRESH))
        found = {"bare_seconds": seconds, "arm_seconds": arm, "cost": arm / seconds if not bare.returncode else None}
        kept.write_text(json.dumps(found))
    return dict(json.loads(kept.read_text()))


def chance(session: Session) -> dict[str, Any]:
    """A/A: nothing is changed but the random numbers."""
    candidate = change(f"nothing={CHANCE_SEED}")
    pairs = [(session.arm(None, seed), session.arm(candidate, seed)) for seed in range(3)]
    return {"aa": judged(candidate, pairs).verdict}


def on_fresh_seeds(session: Session, best: Trial, count: int) -> dict[str, Any]:
    """Whether the help holds on seeds that were not used to find it, whether it does harm there, and whether the fault
    is gone."""
    candidate = best.candidate
    pairs = [(session.arm(None, FRESH + k), session.arm(candidate, FRESH + k)) for k in range(count)]
    again = judged(candidate, pairs)
    claimed = set(best.cleared) & set(candidate.proofs) or set(best.cleared)
    gone = all(claimed <= arm.absent() for _, arm in pairs)
    effect = again.effect
    if effect is None:
        return {"basis": best.basis, "held": gone, "harmful": False, "gone": gone}
    return {
        "basis": best.basis,
        "held": effect.size > -AS_LARGE,
        "harmful": effect.size < -LARGER,
        "gone": gone,
        "fresh": [effect.size, effect.low, effect.high],
    }


def guarded(case: Case, sitting: Sitting) -> dict[str, Any] | None:
    """A row, or None where the time was up before."""
    left = sitting.ends - time.time()
    if left < 1:
        return None
    signal.signal(signal.SIGALRM, _out_of_time)
    signal.alarm(int(left))
    began = time.monotonic()
    try:
        return {**examine(case, sitting), "seconds": time.monotonic() - began}
    except OutOfTime:
        return None
    except Exception:
        return {"case": case.name, "source": case.source, "cause": case.cause, "error": traceback.format_exc()}
    finally:
        signal.alarm(0)


def _out_of_time(number: int, frame: object) -> None:
    raise OutOfTime


# --- tables -----------------------------------------------------------------------------------------------------------


def table(rows: Sequence[dict[str, Any]]) -> None:
    sound = [row for row in rows if "error" not in row]
    columns = ("repaired", "random", "lr/10", "autotrainer", "diff")
    print("| cases with a fault | of | traindx fix | random change | LR ÷ 10 | AutoTrainer's list | with a diff |")
    print("|---|---|---|---|---|---|---|")
    for source in dict.fromkeys(row["source"] for row in sound):
        faulty = [row for row in sound if row["source"] == source and row["cause"] != HEALTHY and row["ill"]]
        for name, group in (("fixable", [row for row in faulty if row["fixable"]]), ("all", faulty)):
            counts = [sum(bool(row[column]) for row in group) for column in columns]
            cells = " | ".join(f"{count} ({count / max(len(group), 1):.0%})" for count in counts)
            print(f"| {source}, {name} | {len(group)} | {cells} |")
    helped = [row for row in sound if row["best"]]
    healthy = [row for row in sound if row["cause"] == HEALTHY]
    costs = sorted(row["cost"] for row in sound if row["cost"] is not None)
    print()
    print(
        "| called helped | held on fresh seeds | harmful | of these, fault gone and twin reached | A/A trials | called "
        "helped by chance | healthy scripts | with a fix "
        "| an arm ÷ the bare script, median and most |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    print(
        f"| {len(helped)} | {sum(row['held'] for row in helped)} | {sum(row['harmful'] for row in helped)} | "
        f"{sum(by_scatter(row) for row in helped)} | {len(sound)} | "
        f"{sum(row['aa'] == 'helped' for row in sound)} | {len(healthy)} | {sum(bool(row['best']) for row in healthy)} "
        f"| " + (f"{median(costs):.2f}, {costs[-1]:.2f} |" if costs else "none |")
    )
    print()
    for row in sound:
        if row["cause"] != HEALTHY and row["ill"] and not row["repaired"]:
            tried = ", ".join(f"{text}: {verdict}" for _, text, verdict in row["trials"])
            print(
                f"not repaired: {row['case']} ({row['cause']}; first {row['first']}; took {row['change']}; tried "
                f"{tried})"
            )
    for row in rows:
        if "error" in row:
            print(f"failed: {row['case']}: {row['error'].strip().splitlines()[-1]}")


def by_scatter(row: dict[str, Any]) -> bool:
    """The error is larger, but the fault is gone and the healthy twin reached: a script that has become its own twin
    scatters as that does."""
    return bool(row["harmful"] and row["gone"] and row.get("repaired"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", type=Path, nargs="?")
    parser.add_argument("--zoo", type=int, default=0, help="so many trainings of the fault zoo")
    parser.add_argument("--zoo-seed", type=int, default=6)
    parser.add_argument("--results", type=Path, required=True)
    parser.add_argument("--jobs", type=int, default=2, help="cases at the same time")
    parser.add_argument("--arms", type=int, default=1, help="arms of a case at the same time")
    parser.add_argument("--minutes", type=float, default=0, help="end after so long; 0: when all is done")
    parser.add_argument("--only", nargs="*", default=[], help="cases whose name has one of these in it")
    parser.add_argument("--budget", type=float, default=900.0, help="seconds of one fix, and of one arm at full length")
    parser.add_argument("--fresh", type=int, default=3)
    arguments = parser.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.environ["TRAINDX_CASES"] = "off"
    paths = [str(SOURCE), str(ZOO), os.environ.get("PYTHONPATH", "")]
    os.environ["PYTHONPATH"] = os.pathsep.join(path for path in paths if path)
    cases = list(from_directory(arguments.programs.absolute(), arguments.only)) if arguments.programs else []
    cases += from_zoo(arguments.zoo, arguments.zoo_seed, arguments.only) if arguments.zoo else []
    results = arguments.results.absolute()
    results.parent.mkdir(parents=True, exist_ok=True)
    known = {name for name, row in read(results).items() if "error" not in row}
    ends = time.time() + 60 * arguments.minutes if arguments.minutes else math.inf
    kept = results.with_name(f"{results.name}.arms")
    work = partial(
        guarded, sitting=Sitting(arguments.budget, arguments.fresh, kept, arguments.arms, min(ends, time.time() + 1e6))
    )
    with ProcessPoolExecutor(arguments.jobs, mp_context=get_context("spawn")) as pool, results.open("a") as file:
        for future in as_completed([pool.submit(work, case) for case in cases if case.name not in known]):
            row = future.result()
            if row is not None:
                file.write(json.dumps(row) + "\n")
                file.flush()
                print(f"{row['case']}: {_outcome(row)}", file=sys.stderr, flush=True)
    rows = read(results)
    done = [rows[case.name] for case in cases if case.name in rows]
    print(f"{len(done)} of {len(cases)} cases")
    if done:
        table(done)


def _outcome(row: dict[str, Any]) -> str:
    if "error" in row:
        return str(row["error"]).strip().splitlines()[-1]
    return f"{row['cause']}, {row['change'] or 'no fix'}, repaired: {row.get('repaired', '-')}, {row['seconds']:.0f} s"


def read(results: Path) -> dict[str, dict[str, Any]]:
    """The last row of each case; a line that was cut off is none."""
    rows: dict[str, dict[str, Any]] = {}
    for line in results.read_text().splitlines() if results.exists() else ():
        try:
            row = json.loads(line)
        except ValueError:
            continue
        rows[row["case"]] = row
    return rows


if __name__ == "__main__":
    main()
