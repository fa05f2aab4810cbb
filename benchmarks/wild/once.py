"""Runs one program once and writes down what came of it. A process of its own a run, so that its children's time and
memory are the run's.

    python benchmarks/wild/once.py PLACE --python PYTHON --to DIR --seed 0 [--bare] [--folder SUB] [--limit SECONDS] --
    COMMAND…

PLACE is a copy of the program that this run may write to. DIR gets `recording/` (with `yardstick.json` in it),
`said.txt` and `run.json`: exit code, seconds, CPU seconds, peak memory, and the diagnosis of the recording."""

from __future__ import annotations

import argparse
import json
import os
import resource
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

from traindx.live.host.bootstrap import OPTIONS, RECORD
from traindx.live.host.launch import HOOK

HERE = Path(__file__).resolve().parent
SAID = 200_000  # characters of its output that are kept


def run(
    command: list[str], place: Path, to: Path, *, seed: int, bare: bool, limit: float, extra: dict[str, str],
    packages: str = ""
) -> dict[str, Any]:  # fmt: skip
    to.mkdir(parents=True, exist_ok=True)
    source = HERE.parents[1] / "src"
    environment = {
        **os.environ, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": "", "PYTHONHASHSEED": "0", "HF_HUB_OFFLINE": "1",
        "MPLBACKEND": "Agg", "TOKENIZERS_PARALLELISM": "false", "WANDB_MODE": "disabled", "WILD_SEED": str(seed),
        **extra,
    }  # fmt: skip
    paths = [str(HERE / "arm" / "bare"), str(source), packages, *extra.get("PYTHONPATH", "").split(os.pathsep)]
    if not bare:
        environment[RECORD] = str((to / "recording").absolute())
        environment[OPTIONS] = json.dumps({"start": "wild_arm:start", "seed": seed})
        paths[:1] = [str(HOOK), str(HERE / "arm" / "recorded")]
    environment["PYTHONPATH"] = os.pathsep.join(path for path in paths if path)
    began = time.perf_counter()
    with (to / "said.txt").open("wb") as said:
        child = subprocess.Popen(
            command, cwd=place, env=environment, stdin=subprocess.DEVNULL, stdout=said, stderr=subprocess.STDOUT,
            start_new_session=True,
        )  # fmt: skip
        try:
            code = child.wait(timeout=limit)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()
            code = 124
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    text = (to / "said.txt").read_bytes().decode("utf-8", "replace")
    if len(text) > SAID:
        (to / "said.txt").write_text(text[: SAID // 2] + "\n…\n" + text[-SAID // 2 :], "utf-8")
    outcome = {
        "code": code, "seconds": time.perf_counter() - began, "cpu": used.ru_utime + used.ru_stime,
        "peak_mb": used.ru_maxrss / 1024,
        "seed": seed, "bare": bare,
    }  # fmt: skip
    (to / "run.json").write_text(json.dumps(outcome))
    return outcome


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("place", type=Path)
    parser.add_argument("--python", required=True)
    parser.add_argument("--to", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--bare", action="store_true")
    parser.add_argument("--limit", type=float, default=300.0)
    parser.add_argument("--environment", type=json.loads, default={})
    parser.add_argument("--packages", default="")
    parser.add_argument("command", nargs="+")
    given = parser.parse_args()
    outcome = run(
        [given.python, *given.command], given.place, given.to, seed=given.seed, bare=given.bare, limit=given.limit,
        extra=given.environment, packages=given.packages,
    )  # fmt: skip
    if not given.bare:
        outcome["page"] = judged(given.to / "recording")
        (given.to / "run.json").write_text(json.dumps(outcome))


def judged(recording: Path) -> dict[str, Any] | None:
    """The diagnosis as `traindx run` ends with it; None where nothing was recorded that could be diagnosed."""
    from traindx.engine import diagnose
    from traindx.errors import TraindxError
    from traindx.readers.find import find_runs

    try:
        return diagnose(find_runs([recording])[0]).to_json()
    except TraindxError:
        return None


if __name__ == "__main__":
    main()
