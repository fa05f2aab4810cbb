"""One million TensorBoard points: traindx against TensorBoard's own EventAccumulator, all points kept, checksums
checked.

    pip install tensorboard && pip install -e .
    python benchmarks/readers/tfevents.py [--points 1000000] [--repeats 3]

The file is written by TensorBoard's own writer: 10 tags of different lengths, logged in turn. Each reading happens in a
fresh process, the two readers taking turns. CPU seconds do not include imports; extra memory is the peak of resident
memory above what the process held after its imports.
"""

from __future__ import annotations

import argparse
import json
import math
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

TAGS = ("train/loss", "train/lr", "train/grad_norm", "val/loss", "val/accuracy", "loss/box", "loss/cls", "loss/dfl",
        "perf/step_time", "perf/gpu_memory_mb")  # fmt: skip
READERS = ("traindx", "EventAccumulator")


def write(folder: Path, points: int) -> None:
    from tensorboard.compat.proto.event_pb2 import Event
    from tensorboard.compat.proto.summary_pb2 import Summary
    from tensorboard.summary.writer.event_file_writer import EventFileWriter

    writer = EventFileWriter(str(folder), max_queue_size=10_000)
    for step in range(points // len(TAGS)):
        for number, tag in enumerate(TAGS):
            value = Summary.Value(
                tag=tag, simple_value=math.exp(-step / 1e4) + number + 0.01 * math.sin(step * 12.9898)
            )
            wall = 1_750_000_000 + step * 0.1 + number * 1e-3
            writer.add_event(Event(wall_time=wall, step=step, summary=Summary(value=[value])))
    writer.close()


def resident(key: str) -> float:
    """Megabytes of resident memory: VmRSS now, VmHWM at its peak. (ru_maxrss, the fallback, may hold the parent's.)"""
    try:
        line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(key))
        return int(line.split()[1]) / 1024
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 << 20)


def read_traindx(path: Path) -> dict[str, float]:
    from traindx.readers.formats.tensorboard import READER
    from traindx.readers.source import Source

    before, started = resident("VmRSS"), time.process_time()
    (run,) = READER.read(Source(path))
    return {"points": run.points, "seconds": time.process_time() - started, "memory": resident("VmHWM") - before}


def read_accumulator(path: Path) -> dict[str, float]:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    before, started = resident("VmRSS"), time.process_time()
    accumulator = EventAccumulator(str(path), size_guidance={"scalars": 0, "tensors": 0})  # 0 keeps all points
    accumulator.Reload()
    points = sum(len(accumulator.Scalars(tag)) for tag in accumulator.Tags()["scalars"])
    return {"points": points, "seconds": time.process_time() - started, "memory": resident("VmHWM") - before}


def in_fresh_process(reader: str, path: Path) -> dict[str, float]:
    command = [sys.executable, __file__, "--read", reader, "--file", str(path)]
    answer = subprocess.run(command, check=True, capture_output=True, text=True)
    result: dict[str, float] = json.loads(answer.stdout.splitlines()[-1])
    return result


def compare(points: int, repeats: int) -> None:
    results: dict[str, list[dict[str, float]]] = {reader: [] for reader in READERS}
    with tempfile.TemporaryDirectory() as name:
        print(f"writing {points:,} points …", file=sys.stderr)
        write(Path(name), points)
        (path,) = Path(name).iterdir()
        for number in range(repeats):
            for reader in READERS:
                print(f"{reader}, {number + 1} of {repeats} …", file=sys.stderr)
                results[reader].append(in_fresh_process(reader, path))
    seconds = {reader: statistics.median(result["seconds"] for result in results[reader]) for reader in READERS}
    memory = {reader: max(result["memory"] for result in results[reader]) for reader in READERS}
    ours, theirs = READERS
    print("| reader | points | CPU s (median) | peak extra MB |\n|---|---|---|---|")
    for reader in READERS:
        print(f"| {reader} | {results[reader][0]['points']:,} | {seconds[reader]:.2f} | {memory[reader]:.0f} |")
    print(f"\ntraindx is {seconds[theirs] / seconds[ours]:.0f}x as fast and needs "
          f"{100 * memory[ours] / memory[theirs]:.0f} % of the memory.")  # fmt: skip


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--points", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--read", choices=READERS, help=argparse.SUPPRESS)
    parser.add_argument("--file", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.read:
        read = read_traindx if arguments.read == "traindx" else read_accumulator
        print(json.dumps(read(arguments.file)))
    else:
        compare(arguments.points, arguments.repeats)
