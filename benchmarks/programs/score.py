"""Scores `traindx run` on a directory of training scripts with one known fault each, and their healthy twins.

    python benchmarks/programs/score.py PROGRAMS [--python PYTHON] [--jobs 2] [--only NAME…] [--verbose]

PROGRAMS holds `labels.jsonl` (case, cause, alternatives, partial) and a folder for each case with `train.py` in it.
Every script runs unchanged under `traindx run` in a temporary directory; PYTHON is an interpreter with torch and
whatever the scripts need besides traindx. The scripts belong to their authors and are not part of this repository."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass
class Result:
    label: dict[str, Any]
    page: dict[str, Any] | None
    alert: bool
    code: int

    @property
    def healthy(self) -> bool:
        return bool(self.label["cause"] == "healthy")

    @property
    def ranking(self) -> list[str]:
        if self.page is None:
            return []
        return [h["cause"] for h in self.page["hypotheses"] if h["cause"] not in ("healthy", "other")]

    def right(self, within: int) -> bool:
        """The cause or an equally right one among the first, in a run that was called unhealthy."""
        wanted = {self.label["cause"], *self.label["alternatives"]}
        return self.verdict == "unhealthy" and bool(wanted & set(self.ranking[:within]))

    @property
    def verdict(self) -> str:
        return "failed" if self.page is None else str(self.page["verdict"])


def examine(label: dict[str, Any], programs: Path, python: str) -> Result:
    script = (programs / label["case"] / "train.py").absolute()
    with tempfile.TemporaryDirectory(prefix="traindx-bench-") as folder:
        source = str(Path(__file__).resolve().parents[2] / "src")
        environment = {
            **os.environ,
            "OMP_NUM_THREADS": "1",
            "PYTHONPATH": os.pathsep.join([source, str(script.parent)]),
        }
        command = [python, "-m", "traindx", "run", "--json", "page.json", "--to", "recording", str(script)]
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=900)
        path = Path(folder) / "page.json"
        page = json.loads(path.read_text()) if path.exists() else None
        early = done.stderr.split("traindx ·")[0]
        return Result(label, page, "traindx: step" in early, done.returncode)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", type=Path)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--verbose", action="store_true")
    arguments = parser.parse_args()
    labels = [
        json.loads(line) for line in (arguments.programs / "labels.jsonl").read_text().splitlines() if line.strip()
    ]
    if arguments.only:
        labels = [label for label in labels if any(name in label["case"] for name in arguments.only)]
    with ThreadPoolExecutor(arguments.jobs) as pool:
        results = list(pool.map(lambda label: examine(label, arguments.programs, arguments.python), labels))
    if arguments.verbose:
        for r in results:
            good = r.verdict == "healthy" if r.healthy else r.right(1)
            seen = [s["id"] for s in r.page["symptoms"] if s["state"] == "present"] if r.page else []
            top = [f"{h['cause']} {h['confidence']:.2f}" for h in r.page["hypotheses"][:3]] if r.page else []
            mark = "ok" if good else "3 " if r.right(3) else "XX"
            print(
                f"{mark} {r.label['case']:20}{r.label['cause']:28}{r.verdict:13}{'alert ' if r.alert else '      '}{top} {seen}"  # noqa: E501
            )
    faulty, well = [r for r in results if not r.healthy], [r for r in results if r.healthy]
    print(
        "| programs | called unhealthy | right cause first | in the first three | alert before the end | healthy twins "
        "called healthy |"
    )
    print("|---|---|---|---|---|---|")
    print(
        f"| {len(results)} | {sum(r.verdict == 'unhealthy' for r in faulty)}/{len(faulty)} | "
        f"{sum(r.right(1) for r in faulty)}/{len(faulty)} | "
        f"{sum(r.right(3) for r in faulty)}/{len(faulty)} | {sum(r.alert for r in faulty)}/{len(faulty)} | "
        f"{sum(r.verdict == 'healthy' for r in well)}/{len(well)} |"
    )


if __name__ == "__main__":
    main()
