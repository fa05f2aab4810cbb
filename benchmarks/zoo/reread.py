"""Reads the logs of the zoo again, after readers, symptoms or hints have changed, without training anything.

    python benchmarks/zoo/reread.py RESULTS…

Each results.jsonl is rewritten with what its logs show now; recordings and probes keep what they showed when they were made.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

os.environ.setdefault("TRAINDX_CASES", "off")

from evidence import evidence

from traindx.readers.find import find_runs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path, nargs="+")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    arguments = parser.parse_args()
    with ProcessPoolExecutor(arguments.jobs) as pool:
        for path in arguments.results:
            lines = list(pool.map(reread, path.read_text().splitlines(), chunksize=20))
            path.write_text("".join(f"{line}\n" for line in lines))


def reread(line: str) -> str:
    result = json.loads(line)
    if "log" not in result:
        return line
    with tempfile.TemporaryDirectory(prefix="zoo-") as folder:
        for name, text in result["log"].items():
            Path(folder, name).write_text(text)
        result["levels"]["curve"] = evidence(find_runs([Path(folder)])[0])
    return json.dumps(result)


if __name__ == "__main__":
    main()
