"""Reads the logs of the zoo again, after readers, symptoms or hints have changed, without training anything.

    python benchmarks/zoo/reread.py RESULTS… [--kept DIR]

Each results.jsonl is rewritten with what its logs show now, and, where make.py kept the recordings (`--keep`), with
what those show; probes keep what they showed when they were made, as do recordings that were not kept."""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

os.environ.setdefault("TRAINDX_CASES", "off")

from evidence import evidence

from traindx.readers.find import find_runs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path, nargs="+")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--kept", type=Path, help="the recordings that make.py kept")
    arguments = parser.parse_args()
    with ProcessPoolExecutor(arguments.jobs) as pool:
        for path in arguments.results:
            lines = list(pool.map(partial(reread, arguments.kept), path.read_text().splitlines(), chunksize=20))
            path.write_text("".join(f"{line}\n" for line in lines))


def reread(kept: Path | None, line: str) -> str:
    result = json.loads(line)
    recording = kept / f"{result['spec']['name']}.traindx" if kept is not None else None
    if recording is not None and recording.exists() and "levels" in result:
        result["levels"]["live"] = evidence(find_runs([recording])[0])
    if "log" not in result:
        return json.dumps(result)
    with tempfile.TemporaryDirectory(prefix="zoo-") as folder:
        for name, text in result["log"].items():
            Path(folder, name).write_text(text)
        result["levels"]["curve"] = evidence(find_runs([Path(folder)])[0])
    return json.dumps(result)


if __name__ == "__main__":
    main()
