"""Scores the line that `traindx run` names, on training scripts with one known fault each.

    python benchmarks/lines/score.py PROGRAMS [--keep RECORDINGS] [--jobs 2] [--only NAME…] [--verbose]

PROGRAMS holds `labels.jsonl` and a folder for each case with its script in it and whatever that imports. A label names
`case` or `id`, `cause`, `alternatives`, `script` (train.py otherwise), and the truth: `lines` as file:line, or a
`healthy_twin` (or another label with `twin_of`), from which the lines that differ are taken, one line more or less. A
line is counted where the cause is one that declares how its line is found; *first* is the line of the page's first
cause, *of the cause* that of the right cause wherever it stands on the page. With `--keep`, recordings that are there
are judged again."""

from __future__ import annotations

import argparse
import difflib
import json
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "src"))

from traindx.causes import causes  # noqa: E402

NEAR = 1  # lines beside the changed ones


@dataclass
class Result:
    label: dict[str, Any]
    truth: dict[str, set[int]]
    page: dict[str, Any] | None

    @property
    def named(self) -> list[tuple[str, str | None]]:
        """The causes of the page, with their lines."""
        listed = self.page["hypotheses"] if self.page else []
        return [(h["cause"], h["where"]) for h in listed if h["cause"] not in ("healthy", "other")]

    @property
    def first(self) -> str | None:
        return self.named[0][1] if self.named and self.page and self.page["verdict"] == "unhealthy" else None

    @property
    def of_the_cause(self) -> str | None:
        wanted = {self.label["cause"], *self.label.get("alternatives", ())}
        return next((where for cause, where in self.named if cause in wanted), None)

    def right(self, where: str | None) -> bool:
        file, _, line = (where or "").rpartition(":")
        lines = self.truth.get(os.path.basename(file), set())
        return line.isdigit() and any(abs(int(line) - one) <= NEAR for one in lines)


def changed(faulty: Path, sound: Path) -> dict[str, set[int]]:
    """Lines of the faulty files that the sound ones do not have, and the places at which they have more."""
    found: dict[str, set[int]] = {}
    for file in sorted(faulty.glob("*.py")):
        twin = sound / file.name
        before = file.read_text().splitlines()
        after = twin.read_text().splitlines() if twin.exists() else []
        for kind, start, stop, *_ in difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
            if kind != "equal":
                lines = range(start + 1, stop + 1) if stop > start else (start, start + 1)
                found.setdefault(file.name, set()).update(lines)
    return found


def cases(programs: Path, only: list[str]) -> list[dict[str, Any]]:
    """Labels of scripts with a fault whose line is known, in the words of this file."""
    read = [json.loads(line) for line in (programs / "labels.jsonl").read_text().splitlines() if line.strip()]
    twins = {label["twin_of"]: label["id"] for label in read if label.get("twin_of")}
    found = []
    for label in read:
        name = label.get("case") or label["id"]
        twin = label.get("healthy_twin") or twins.get(name)
        known = twin is not None or any(":" in line for line in label.get("lines") or ())
        if label.get("cause") not in (None, "healthy") and known and (not only or any(one in name for one in only)):
            found.append({**label, "case": name, "healthy_twin": twin})
    return found


def truth_of(label: dict[str, Any], programs: Path) -> dict[str, set[int]]:
    given: dict[str, set[int]] = {}
    for line in label.get("lines") or ():
        file, _, number = line.rpartition(":")
        given.setdefault(os.path.basename(file), set()).add(int(number))
    if given:
        return given
    return changed((programs / label["case"]).absolute(), (programs / label["healthy_twin"]).absolute())


def examine(label: dict[str, Any], given: argparse.Namespace) -> Result:
    folder = (given.programs / label["case"]).absolute()
    truth = truth_of(label, given.programs)
    environment = {
        **os.environ, "OMP_NUM_THREADS": "1", "TRAINDX_CASES": "off",
        "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(folder)]),
    }  # fmt: skip
    with tempfile.TemporaryDirectory(prefix="traindx-lines-") as place:
        recording = given.keep.absolute() / label["case"] if given.keep else Path(place) / "recording"
        page = Path(place) / "page.json"
        if recording.exists():
            command = ["diagnose", str(recording), "-o", str(page)]
        else:
            command = [
                "run",
                "--json",
                str(page),
                "--to",
                str(recording),
                str(folder / label.get("script", "train.py")),
            ]
        subprocess.run(
            [sys.executable, "-m", "traindx", *command], cwd=folder, env=environment, capture_output=True, timeout=900
        )
        read = json.loads(page.read_text()) if page.exists() else None
        return Result(label, truth, read[0] if isinstance(read, list) else read)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", type=Path)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--verbose", action="store_true")
    given = parser.parse_args()
    labels = cases(given.programs, given.only)
    with ThreadPoolExecutor(given.jobs) as pool:
        results = list(pool.map(lambda label: examine(label, given), labels))
    with_line = [result for result in results if causes()[result.label["cause"]].line]
    if given.verbose:
        for r in results:
            mark = "ok" if r.right(r.first) else "c " if r.right(r.of_the_cause) else "XX"
            first = r.named[0] if r.named else None
            print(f"{mark} {r.label['case']:24}{r.label['cause']:30}{first} {r.of_the_cause} {r.truth}")
    print("| programs | with a line | line of the first cause right | line of the right cause right | a line named |")
    print("|---|---|---|---|---|")
    print(
        f"| {len(results)} | {len(with_line)} | {sum(r.right(r.first) for r in with_line)} | "
        f"{sum(r.right(r.of_the_cause) for r in with_line)} | {sum(bool(r.first) for r in with_line)} |"
    )


if __name__ == "__main__":
    main()
