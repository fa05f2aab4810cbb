"""Scores `traindx fix` on a directory of training scripts with one known fault each, and their healthy twins.

    python benchmarks/repair/score.py PROGRAMS --results results.jsonl [--jobs 2] [--only NAME…] [--budget 900] [--fresh 3]

PROGRAMS holds `labels.jsonl` (case, cause, healthy_twin) and a folder for each case with `train.py` in it. Run it with an interpreter that
has torch and whatever the scripts need besides traindx. Results are appended to the file as cases are done; cases that are in it already
are not run again. The scripts belong to their authors and are not part of this repository.

A case is repaired if its change clears a symptom of it and brings the whole training, on a seed that was not used to choose it, to within
a tenth of the healthy twin's measure (validation where there is one; log loss, or squared error over variance; both arms measured the
same way). Beside `traindx fix` stand, on the same scripts and with no more arms than it used:
  random      as many changes drawn at random from all that the catalogue can try, of which the one with the least error is taken
  lr/10       a tenth of the learning rate
  autotrainer the repairs that AutoTrainer (Zhang et al., ICSE 2021) lists for the symptoms that are present, as far as they can be
              made in PyTorch, of which the one with the least error is taken
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import shutil
import sys
import tempfile
import time
import traceback
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "src"))

from traindx.fixes import fixes
from traindx.trials.executors import Local
from traindx.trials.fixing import Asked, fix
from traindx.trials.judge import effect_of
from traindx.trials.measure import Metric, metric_for
from traindx.trials.plan import Candidate
from traindx.trials.session import Arm, Limits, Session, judged
from traindx.trials.setting import at_run_time, combined
from traindx.trials.workspace import Project

WITHIN = 1.1
FRESH = 100  # the first seed that no choice has seen
CHANCE_SEED = 20
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
    texts |= {"warmup=50", "decay=1000", "workers=2"}
    return sorted(text for text in texts if at_run_time(combined(text)))


def whole(script: Path, budget: float) -> Session:
    """Arms of a script at its full length."""
    project = Project(script.parent, script.parent)
    command = [sys.executable, script.name]
    return Session(project, command, Local(), Limits(None, budget, 1e9), lambda text: None)


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
    metric = metric_for(twin.measured, after.measured, "error" if candidate.judged == "symptom" else candidate.judged)
    if metric is None:
        return False
    goal, value = error_of(twin, metric), error_of(after, metric)
    honest = candidate.judged != "symptom" or value >= goal / WITHIN
    gone = set(before.present()) & after.absent()
    return bool(gone) and honest and value + metric.floor <= WITHIN * (goal + metric.floor)


def least_error(session: Session, texts: Sequence[str]) -> Candidate | None:
    """What somebody without a diagnosis takes: the change with the least error on one seed, if it is less than without."""
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


def examine(label: dict[str, Any], programs: Path, budget: float, fresh: int) -> dict[str, Any]:
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="traindx-repair-") as place:
        script = Path(place) / "case" / "train.py"
        shutil.copytree(programs / label["case"], script.parent)
        os.chdir(script.parent)
        report, _, _ = fix(Asked(["train.py"], budget=budget), lambda text: None)
        best = report.best
        row: dict[str, Any] = {
            "case": label["case"], "cause": label["cause"], "verdict": report.page.verdict,
            "first": next((h.cause for h in report.page.hypotheses if h.cause not in ("healthy", "other")), None),
            "best": None if best is None else best.candidate.fix, "change": None if best is None else best.candidate.change,
            "diff": bool(report.diff), "trials": [[t.candidate.fix, t.candidate.change, t.verdict] for t in report.trials],
            "seconds": time.monotonic() - began,
        }  # fmt: skip
        session = whole(script, budget)
        row |= chance(session)
        if best is not None:
            row |= on_fresh_seeds(session, best.candidate, fresh)
        if label["cause"] != "healthy":
            twin_script = Path(place) / "twin" / "train.py"
            shutil.copytree(programs / label["healthy_twin"], twin_script.parent)
            twin = whole(twin_script, budget).arm(None, FRESH)
            row["repaired"] = reaches(session, None if best is None else best.candidate, twin)
            draw = random.Random(label["case"])
            arms = max(1, len(report.trials))
            row["random"] = reaches(session, least_error(session, draw.sample(all_changes(), arms)), twin)
            row["lr/10"] = reaches(session, change("lr=x0.1"), twin)
            listed = [t for s in session.arm(None, 0).present() for t in AUTOTRAINER.get(s, ())]
            row["autotrainer"] = reaches(session, least_error(session, list(dict.fromkeys(listed))[:arms]), twin)
        row["whole_seconds"] = time.monotonic() - began
    return row


def chance(session: Session) -> dict[str, Any]:
    """A/A: nothing is changed but the random numbers."""
    candidate = change(f"nothing={CHANCE_SEED}")
    pairs = [(session.arm(None, seed), session.arm(candidate, seed)) for seed in range(3)]
    return {"aa": judged(candidate, pairs).verdict}


def on_fresh_seeds(session: Session, candidate: Candidate, count: int) -> dict[str, Any]:
    """Whether what was called help holds on seeds that were not used to find it, and whether it does harm."""
    pairs = [(session.arm(None, FRESH + k), session.arm(candidate, FRESH + k)) for k in range(count)]
    first, second = pairs[0]
    metric = (
        metric_for(first.measured, second.measured, candidate.judged) if first.measured and second.measured else None
    )
    if metric is None:
        return {"held": all(judged(candidate, [pair]).cleared for pair in pairs), "harmful": False}
    values = [(error_of(before, metric), error_of(after, metric)) for before, after in pairs]
    chance_level = first.measured.chance(metric) if first.measured else math.nan
    size = effect_of(metric.name, metric.floor, values, chance_level).size
    return {"held": size > -0.02, "harmful": size < -math.log(1.05), "values": values}


def guarded(label: dict[str, Any], programs: Path, budget: float, fresh: int) -> dict[str, Any]:
    try:
        return examine(label, programs, budget, fresh)
    except Exception:
        return {"case": label["case"], "cause": label["cause"], "error": traceback.format_exc()}


def table(rows: Sequence[dict[str, Any]]) -> None:
    faulty = [row for row in rows if row["cause"] != "healthy" and "error" not in row]
    healthy = [row for row in rows if row["cause"] == "healthy" and "error" not in row]
    helped = [row for row in faulty if row["best"]]
    print(
        "| programs with a fault | repaired by traindx fix | random change | LR ÷ 10 | AutoTrainer's list | with a diff |"
    )
    print("|---|---|---|---|---|---|")
    counts = [sum(bool(row[name]) for row in faulty) for name in ("repaired", "random", "lr/10", "autotrainer", "diff")]
    print(f"| {len(faulty)} | {' | '.join(f'{count} ({count / max(len(faulty), 1):.0%})' for count in counts)} |")
    print()
    print(
        "| called helped | held on fresh seeds | harmful | A/A trials | called helped by chance | healthy scripts | with a fix recommended |"
    )
    print("|---|---|---|---|---|---|---|")
    both = faulty + healthy
    print(
        f"| {len(helped)} | {sum(row['held'] for row in helped)} | {sum(row['harmful'] for row in helped)} | {len(both)} | "
        f"{sum(row['aa'] == 'helped' for row in both)} | {len(healthy)} | {sum(bool(row['best']) for row in healthy)} |"
    )
    for row in rows:
        if "error" in row:
            print(f"failed: {row['case']}: {row['error'].strip().splitlines()[-1]}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", type=Path)
    parser.add_argument("--results", type=Path, required=True)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument(
        "--budget", type=float, default=900.0, help="seconds of one session, and of one arm at full length"
    )
    parser.add_argument("--fresh", type=int, default=3)
    parser.add_argument("--verbose", action="store_true")
    arguments = parser.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.environ["PYTHONPATH"] = str(Path(__file__).resolve().parents[2] / "src")
    labels = [
        json.loads(line) for line in (arguments.programs / "labels.jsonl").read_text().splitlines() if line.strip()
    ]
    labels = [one for one in labels if not arguments.only or any(name in one["case"] for name in arguments.only)]
    results = arguments.results.absolute()
    done = [json.loads(line) for line in results.read_text().splitlines()] if results.exists() else []
    known = {row["case"] for row in done if "error" not in row}
    work = partial(guarded, programs=arguments.programs.absolute(), budget=arguments.budget, fresh=arguments.fresh)
    with ProcessPoolExecutor(arguments.jobs, mp_context=get_context("spawn")) as pool, results.open("a") as file:
        for future in as_completed([pool.submit(work, label) for label in labels if label["case"] not in known]):
            row = future.result()
            file.write(json.dumps(row) + "\n")
            file.flush()
            if arguments.verbose:
                print(json.dumps(row), file=sys.stderr)
    wanted = {label["case"] for label in labels}
    rows = {
        row["case"]: row for line in results.read_text().splitlines() if (row := json.loads(line))["case"] in wanted
    }
    table(list(rows.values()))


if __name__ == "__main__":
    main()
