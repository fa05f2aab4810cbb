"""Lets `traindx fix --write --yes` repair scripts with one known fault, unattended, and says what it made of them.

    python benchmarks/repair/unattended.py SCRIPTS --results FILE.jsonl [--only NAME…] [--share 0.33] [--budget 110]
    [--traindx traindx] [--fresh 2]

SCRIPTS holds `labels.jsonl` and a folder a case, as for `benchmarks/lines/score.py`; labels without a cause are sound,
`command` is the script with its arguments where it needs some. Each is repaired in a copy, one at a time; a result that
is there is not made again. `--share` takes that part of the cases, drawn by the hash of their names. The lines that a
diff changes are laid beside those that differ from the sound twin (one more or less): *at the fault* is a diff that
changes one of them, *elsewhere* one that changes others; whether it removes the fault is for a reader of the diff to
say, which is kept. Seconds are processor time of everything that ran. With `--fresh`, what is written is judged again
on so many seeds that the repair has not seen."""

from __future__ import annotations

import argparse
import contextlib
import difflib
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lines"))
from score import NEAR, changed, truth_of

from traindx.trials.fixing import Asked
from traindx.trials.outcome import judged
from traindx.trials.patch import candidate_of, read_patch

FRESH = 100  # the first of the seeds that no session uses
BAD = ("worse", "failed", "no-effect")
EVERY = 0.2  # seconds between two looks at the processor time
PATIENCE = 90.0  # seconds beyond the budget, after which a session is ended
IGNORED = ("_out", "__pycache__", ".traindx", "*.traindx", "recording")


@dataclass
class Ended:
    code: int
    said: str
    cpu: float
    wall: float


def hashed(name: str) -> float:
    return int(hashlib.sha256(name.encode()).hexdigest()[:8], 16) / 2**32


class Meter:
    """Processor time of a process and all it starts, read often while it runs: arms are waited for by nobody, so that
    the system does not add theirs up."""

    def __init__(self, root: int) -> None:
        self._known, self._ticks, self._ended = {root}, dict[int, int](), threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def _watch(self) -> None:
        while not self._ended.wait(EVERY):
            self._look()

    def _look(self) -> None:
        parents: dict[int, int] = {}
        ticks: dict[int, int] = {}
        for place in Path("/proc").iterdir():
            if place.name.isdigit():
                with contextlib.suppress(OSError):
                    fields = (place / "stat").read_text().rpartition(")")[2].split()
                    parents[int(place.name)], ticks[int(place.name)] = int(fields[1]), int(fields[11]) + int(fields[12])
        grown = True
        while grown:
            new = {pid for pid, parent in parents.items() if parent in self._known} - self._known
            self._known |= new
            grown = bool(new)
        self._ticks |= {pid: count for pid, count in ticks.items() if pid in self._known}

    def seconds(self) -> float:
        self._ended.set()
        self._thread.join()
        return sum(self._ticks.values()) / os.sysconf("SC_CLK_TCK")


def run(command: list[str], folder: Path, limit: float) -> Ended:
    """A command, ended as by Ctrl-C when its time is up."""
    began = time.monotonic()
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "TRAINDX_CASES": "off"}
    child = subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                             text=True, errors="replace", start_new_session=True)  # fmt: skip
    meter = Meter(child.pid)
    try:
        said, _ = child.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        child.send_signal(signal.SIGINT)
        try:
            said, _ = child.communicate(timeout=30)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            said, _ = child.communicate()
    return Ended(child.returncode, said, meter.seconds(), time.monotonic() - began)


def copied(folder: Path, place: Path) -> Path:
    shutil.copytree(folder, place, symlinks=True, ignore=shutil.ignore_patterns(*IGNORED))
    return place


def diff_between(old: Path, new: Path) -> str:
    """The Python files of two folders, as one patch."""
    parts = []
    for file in sorted(new.rglob("*.py")):
        name = str(file.relative_to(new))
        before = (old / name).read_text().splitlines(keepends=True) if (old / name).exists() else []
        after = file.read_text().splitlines(keepends=True)
        parts += difflib.unified_diff(before, after, f"a/{name}", f"b/{name}")
    return "".join(parts)


def changed_below(own: Path, copy: Path) -> dict[str, set[int]]:
    found: dict[str, set[int]] = {}
    for folder in {file.parent for file in own.rglob("*.py")}:
        for name, lines in changed(folder, copy / folder.relative_to(own)).items():
            found.setdefault(name, set()).update(lines)
    return found


def true_lines(label: dict[str, Any], scripts: Path) -> dict[str, set[int]]:
    """None where the fault stands on the command line."""
    known = label.get("healthy_twin") or any(":" in line for line in label.get("lines") or ())
    return truth_of(label, scripts) if known else {}


def lines_of(diff: str) -> int:
    """The larger of the lines added and taken away."""
    rows = [row for row in diff.splitlines() if not row.startswith(("+++", "---"))]
    return max(sum(row.startswith(sign) for row in rows) for sign in "+-") if rows else 0


def repaired(label: dict[str, Any], given: argparse.Namespace) -> dict[str, Any]:
    name, command = label["id"], label.get("command") or [label.get("script", "train.py")]
    with tempfile.TemporaryDirectory(prefix="traindx-unattended-") as place:
        own = copied(given.scripts / name, Path(place) / "own")
        copy = copied(own, Path(place) / "copy")
        page = Path(place) / "page.json"
        ended = run([given.traindx, "fix", "--write", "--yes", "--jobs", "1", "--budget", str(given.budget), "--json",
                     str(page), *command], copy, given.budget + PATIENCE)  # fmt: skip
        diff = diff_between(own, copy)
        report = json.loads(page.read_text()) if page.exists() else {}
        row: dict[str, Any] = {
            "id": name, "cause": label.get("cause"), "code": ended.code, "cpu": round(ended.cpu, 1),
            "wall": round(ended.wall, 1), "lines": lines_of(diff), "diff": diff, **at_a_glance(report),
        }  # fmt: skip
        if label.get("cause"):
            touched, truth = changed_below(own, copy), true_lines(label, given.scripts)
            row["at_fault"] = meets(touched, truth)
            file, _, line = (row["where"] or "").rpartition(":")
            row["line_right"] = line.isdigit() and meets({os.path.basename(file): {int(line)}}, truth)
        if diff and given.fresh:
            row["fresh"] = on_fresh_seeds(own, diff, command, given)
        row["said"] = ended.said[-6000:]
    return row


def on_fresh_seeds(own: Path, diff: str, command: list[str], given: argparse.Namespace) -> dict[str, Any]:
    """The verdict of what was written, by pairs of seeds that the session has not used."""
    patch = own.parent / "patch.diff"
    patch.write_text(diff)
    before = Path.cwd()
    os.chdir(own)
    try:
        session = Asked(command, jobs=1, budget=3 * given.budget).session(lambda said: None)
        page = session.baseline().page
        if page is None:
            return {"verdict": "failed"}
        candidate = candidate_of(read_patch(patch, session.project.root), page)
        seeds = range(FRESH, FRESH + given.fresh)
        trial = judged(candidate, [(session.arm(None, seed), session.arm(candidate, seed)) for seed in seeds])
    finally:
        os.chdir(before)
    effect = trial.effect
    numbers = None if effect is None else [effect.before, effect.after, effect.size]
    return {"verdict": trial.verdict, "effect": numbers, "cleared": list(trial.cleared)}


def meets(lines: dict[str, set[int]], truth: dict[str, set[int]]) -> bool:
    return any(
        abs(one - other) <= NEAR for file, mine in lines.items() for one in mine for other in truth.get(file, set())
    )


def at_a_glance(report: dict[str, Any]) -> dict[str, Any]:
    page = report.get("diagnosis") or {}
    first = next((h for h in page.get("hypotheses", ()) if h["cause"] not in ("healthy", "other")), {})
    return {
        "verdict": page.get("verdict"), "first": first.get("cause"), "confidence": first.get("confidence"),
        "where": first.get("where"),
        "trials": [[t.get("fix"), t.get("change"), t.get("verdict")] for t in report.get("trials", ())],
    }  # fmt: skip


def wanted(given: argparse.Namespace) -> list[dict[str, Any]]:
    labels = [json.loads(line) for line in (given.scripts / "labels.jsonl").read_text().splitlines() if line.strip()]
    for label in labels:
        label["id"] = label.get("id") or label["case"]
        label["case"] = label["id"]
        label["cause"] = None if label.get("cause") == "healthy" else label.get("cause")
    twins = {label["twin_of"]: label["id"] for label in labels if label.get("twin_of")}
    for label in labels:
        label["healthy_twin"] = label.get("healthy_twin") or twins.get(label["id"])
    return [
        label
        for label in labels
        if (not given.only or any(label["id"].startswith(one) for one in given.only))
        and hashed(label["id"]) < given.share
        and not (given.faulty and not label["cause"])
    ]


def table(rows: list[dict[str, Any]]) -> None:
    faulty, sound = [row for row in rows if row["cause"]], [row for row in rows if not row["cause"]]
    print("| case | cause | named | line right | diff | lines | CPU s | trials |\n|---|---|---|---|---|---|---|---|")
    for row in rows:
        place = "none" if not row["diff"] else "at the fault" if row.get("at_fault") else "elsewhere"
        trials = "; ".join(f"{change} {verdict}" for _, change, verdict in row["trials"])
        named = f"{row['first']} {row['confidence'] or 0:.2f}" if row["verdict"] != "healthy" else "healthy"
        print(f"| {row['id']} | {row['cause'] or 'sound'} | {named} | {row.get('line_right', '')} | {place} | "
              f"{row['lines']} | {row['cpu']:.0f} | {trials} |")  # fmt: skip
    at = [row for row in faulty if row["diff"] and row["at_fault"]]
    print(f"\nfaulty {len(faulty)}: diff at the fault {len(at)}, elsewhere "
          f"{sum(bool(row['diff']) for row in faulty) - len(at)}, none {sum(not row['diff'] for row in faulty)}; line "
          f"right {sum(bool(row['line_right']) for row in faulty)}; sound {len(sound)}, changed "
          f"{sum(bool(row['diff']) for row in sound)}")  # fmt: skip
    again = [row["fresh"] for row in faulty if row.get("fresh")]
    if again:
        print(f"on fresh seeds: {len(again)}, of these not worse {sum(one['verdict'] not in BAD for one in again)}")
    written = [row for row in faulty if row["diff"]]
    if written:
        seconds, lines = [row["cpu"] for row in written], [row["lines"] for row in written]
        print(f"with a diff: CPU seconds median {median(seconds):.0f}, most {max(seconds):.0f}; lines median "
              f"{median(lines):.0f}, most {max(lines)}")  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scripts", type=Path)
    parser.add_argument("--results", type=Path, required=True)
    parser.add_argument("--only", nargs="*", default=[], help="cases whose name begins like one of these")
    parser.add_argument("--faulty", action="store_true", help="leave out the sound ones")
    parser.add_argument("--share", type=float, default=1.0)
    parser.add_argument("--budget", type=float, default=110.0)
    parser.add_argument("--fresh", type=int, default=0)
    parser.add_argument("--traindx", default=str(Path(sys.executable).with_name("traindx")))
    given = parser.parse_args()
    given.scripts = given.scripts.absolute()
    given.results.parent.mkdir(parents=True, exist_ok=True)
    known = {}
    if given.results.exists():
        known = {row["id"]: row for row in map(json.loads, given.results.read_text().splitlines())}
    cases = wanted(given)
    for label in cases:
        if label["id"] in known:
            continue
        row = known[label["id"]] = repaired(label, given)
        with given.results.open("a") as file:
            file.write(json.dumps(row) + "\n")
        print(f"{row['id']}: {row['first']}, {row['lines']} lines, {row['cpu']:.0f} s", file=sys.stderr, flush=True)
    table([known[label["id"]] for label in cases if label["id"] in known])


if __name__ == "__main__":
    main()
