"""Changed files of every format, read and diagnosed: no traceback, no hang.

    python benchmarks/fuzz/run.py --inputs 100000 --seed 1 [--workers 2] [--seconds 10] [--state fuzz.json]

Input number N of a seed is always the same, so that a failure is repeated by `--only N`. Each worker handles a stretch
of numbers; one that takes longer than the limit over an input is ended, the input counts as a hang, and its successor
goes on with the next. The state file holds what was done: the same command goes on from there. Ends with 1 where
anything failed."""

from __future__ import annotations

import argparse
import gc
import json
import multiprocessing
import os
import random
import resource
import shutil
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from excerpts import excerpt
from mutate import mutated

from seeds import Seed, make, seeds_of

STRETCH = 5000  # inputs of one piece of work: a worker begins with a second of loading
MEMORY = 4 << 30  # of address space for a worker: what asks for more is a failure too
JUDGED, JUDGED_RECORDINGS = 0.03, 0.3  # share of the inputs whose symptoms are looked for after they were read
SHOWN = 0.1  # of those, which are diagnosed and shown besides
SIMULATED = 0.1  # of those, whose answers to come are tried on the ranking, which takes a second
SLOW = (".log", ".txt", ".db")  # kinds of files that take three times as long: drawn half as often
FOLDERS = 0.03  # share of the inputs that are whole directories, which take ten times as long
WAITING = 60  # times the limit that an input may wait for a processor
SAVED = 15  # seconds from one state that is kept to the next
KEPT = 400  # failures that are kept whole


def prepare(simulated: float) -> None:
    """Load everything that an input needs, and let faults of the readers through, which the commands put into words."""
    from traindx import engine
    from traindx.engine.evidence import Evidence
    from traindx.engine.next_evidence import Gain
    from traindx.errors import TraindxError
    from traindx.readers import find
    from traindx.readers.base import Reader
    from traindx.readers.source import Source
    from traindx.readers.specimen import diverging
    from traindx.run import Run
    from traindx.signals import Signals

    sources = engine.sources

    def some_sources(signals: Signals, evidence: Evidence, *, simulate: bool, asked: bool = False) -> list[Gain]:
        return sources(signals, evidence, simulate=simulate and random.random() < simulated, asked=asked)

    def read(reader: Reader, source: Source) -> list[Run]:
        try:
            return find.taken_in(reader, source)
        except OSError as error:
            raise TraindxError(f"{source.name} cannot be read: {error}") from error

    os.environ["TRAINDX_CASES"] = "off"
    find._read = read
    engine.diagnose(diverging())
    engine.sources = some_sources


def examine(seed: Seed, place: Path, judge: bool, show: bool) -> None:
    """What the commands do with a file or a directory. Faults that they would catch come through. To judge takes some
    times as long as to read and to show a hundred times, so that not every input is taken that far."""
    from traindx.checkpoints.evidence import reading_of
    from traindx.checkpoints.find import open_checkpoint
    from traindx.checkpoints.layers import measured
    from traindx.engine import diagnose
    from traindx.engine.observe import observe
    from traindx.errors import TraindxError
    from traindx.readers.find import find_runs
    from traindx.reporters import reporters
    from traindx.signals import Signals

    try:
        if seed.checkpoint:
            reading_of(measured(open_checkpoint(place)))
            return
        runs = find_runs([place])
        if not judge:
            for run in runs:
                assert all(len(series.steps) == len(series.values) for series in run.series.values())
            return
        if not show:
            for run in runs:
                observe(Signals(run))
            return
        pages = [diagnose(run) for run in runs]
    except TraindxError as error:
        if not error.message:
            raise AssertionError("a refusal without a sentence") from error
        return
    for page in pages:
        for name in ("text", "json"):
            reporters()[name].render([page], color=False, width=100)


class Formats:
    """The seeds by the tool that wrote them and the kind of file; whole directories apart."""

    def __init__(self, seeds: list[Seed]) -> None:
        self.files: dict[str, list[Seed]] = {}
        self.folders: dict[str, list[Seed]] = {}
        for seed in seeds:
            if seed.read != seed.path:
                self.folders.setdefault(f"{seed.group}/", []).append(seed)
            else:
                kind = ".tfevents" if ".tfevents." in seed.path.name else seed.path.suffix or "file"
                self.files.setdefault(f"{seed.group} {kind}", []).append(seed)

    def choose(self, dice: random.Random) -> tuple[str, Seed]:
        kinds = self.folders if dice.random() < FOLDERS else self.files
        name = dice.choice(list(kinds))
        if name.endswith(SLOW) and dice.random() < 0.5:
            name = dice.choice(list(kinds))
        return name, dice.choice(kinds[name])

    def counted(self, seed: int, numbers: range) -> Counter[str]:
        """How many of these inputs are of which format."""
        return Counter(self.choose(random.Random(f"{seed} {number}"))[0] for number in numbers)


def one(number: int, seed: int, formats: Formats, folder: Path) -> str:
    """Make and examine an input; the relative name of what was changed."""
    dice = random.Random(f"{seed} {number}")
    _, chosen = formats.choose(dice)
    judge = dice.random() < (JUDGED_RECORDINGS if "recording" in chosen.read.parts else JUDGED)
    show = dice.random() < SHOWN
    name = chosen.path.name
    content = mutated(name, excerpt(name, chosen.path.read_bytes(), dice), dice)
    if chosen.read == chosen.path:
        place = folder / name
        place.write_bytes(content)
        try:
            examine(chosen, place, judge, show)
        finally:
            place.unlink(missing_ok=True)
        return name
    copy = folder / chosen.read.name
    if not copy.exists():
        shutil.copytree(chosen.read, copy)
    place = copy / chosen.path.relative_to(chosen.read)
    place.write_bytes(content)
    try:
        examine(chosen, copy, judge, show)
    finally:
        place.write_bytes(chosen.path.read_bytes())
    return str(chosen.path.relative_to(chosen.read.parent))


def work(corpus: str, seed: int, first: int, last: int, told: Connection) -> None:
    """Inputs `first` to `last`: before each its number is sent, after a failure what failed."""
    prepare(SIMULATED)
    warnings.simplefilter("error")
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    formats = Formats(seeds_of(Path(corpus)))
    gc.freeze()
    with tempfile.TemporaryDirectory(
        prefix="traindx-fuzz-", dir="/dev/shm" if Path("/dev/shm").is_dir() else None
    ) as folder:
        tempfile.tempdir = folder
        for number in range(first, last):
            told.send(("at", number, ""))
            try:
                one(number, seed, formats, Path(folder))
            except BaseException:
                told.send(("failed", number, traceback.format_exc()))
    told.send(("done", last, ""))


def cpu_seconds(process: int | None) -> float:
    """What a process has computed so far; 0 where the system does not say."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Worker:
    """A process at work on a stretch, and when it began its present input."""

    def __init__(self, corpus: str, seed: int, first: int, last: int) -> None:
        self.corpus, self.seed, self.at, self.last = corpus, seed, first, last
        self.done = False
        self._begin()

    def _begin(self) -> None:
        self.told, other = multiprocessing.Pipe(duplex=False)
        self.process = multiprocessing.Process(target=work, args=(self.corpus, self.seed, self.at, self.last, other))
        self.process.start()
        other.close()
        self.since, self.used = time.monotonic(), -1.0  # nothing counts before the first input: it loads

    def look(self, limit: float, failures: list[dict[str, Any]]) -> None:
        """Take in what the process has said; end it where it hangs."""
        try:
            while self.told.poll():
                kind, number, text = self.told.recv()
                if number != self.at or self.used < 0:
                    self.at, self.since, self.used = number, time.monotonic(), cpu_seconds(self.process.pid)
                self.done = kind == "done"
                if kind == "failed":
                    failures.append({"input": number, "kind": "traceback", "text": text})
        except EOFError:
            if not self.done:
                failures.append(
                    {"input": self.at, "kind": "crash", "text": f"the process ended with {self.process.exitcode}"}
                )
                self._next()
        if not self.done and self._hangs(limit):
            failures.append({"input": self.at, "kind": "hang", "text": f"longer than {limit:g} s"})
            self.process.kill()
            self._next()

    def _hangs(self, limit: float) -> bool:
        """By the time it has computed: a busy machine makes everything wait. What only waits has much longer."""
        computed = cpu_seconds(self.process.pid) - self.used if self.used >= 0 else 0.0
        return computed > limit or time.monotonic() - self.since > WAITING * limit

    def _next(self) -> None:
        self.process.join()
        self.at += 1
        self.done = self.at >= self.last
        if not self.done:
            self._begin()


def main() -> int:
    asked = arguments()
    corpus = Path(asked.corpus)
    if not corpus.exists():
        make(corpus)
    if asked.only is not None:
        prepare(simulated=1.0)
        with tempfile.TemporaryDirectory() as folder:
            print(one(asked.only, asked.seed, Formats(seeds_of(corpus)), Path(folder)), "is handled")
        return 0
    state = Path(asked.state)
    kept: dict[str, Any] = {"seed": asked.seed, "done": 0, "failures": [], "seconds": 0.0}
    if state.exists():
        kept = json.loads(state.read_text())
    began, before = time.monotonic(), kept["seconds"]
    waiting = [(first, min(first + STRETCH, asked.inputs)) for first in range(kept["done"], asked.inputs, STRETCH)]
    multiprocessing.set_start_method("spawn")
    workers: list[Worker] = []
    saved = began
    while (waiting or workers) and (asked.minutes is None or time.monotonic() - began < 60 * asked.minutes):
        while waiting and len(workers) < asked.workers:
            workers.append(Worker(str(corpus), asked.seed, *waiting.pop(0)))
        for worker in workers:
            worker.look(asked.seconds, kept["failures"])
        for worker in [one for one in workers if one.done]:
            worker.process.join()
            workers.remove(worker)
        if time.monotonic() - saved > SAVED or not (workers or waiting):
            saved = time.monotonic()
            kept["done"] = min([one.at for one in workers] + [first for first, _ in waiting[:1]] + [asked.inputs])
            kept["seconds"] = before + saved - began
            del kept["failures"][KEPT:]
            part = state.with_suffix(".part")
            part.write_text(json.dumps(kept, indent=1))
            part.replace(state)
            print(f"{kept['done']} of {asked.inputs} inputs, {len(kept['failures'])} failures", flush=True)
        time.sleep(0.05)
    for worker in workers:
        worker.process.kill()
    report(kept, Formats(seeds_of(corpus)).counted(asked.seed, range(kept["done"])))
    return 1 if kept["failures"] else 0


def report(kept: dict[str, Any], formats: Counter[str]) -> None:
    """The failures by the last line of their tracebacks, most frequent first, with a number to repeat each by."""
    kinds: Counter[str] = Counter()
    example: dict[str, int] = {}
    for failure in kept["failures"]:
        lines = failure["text"].strip().splitlines()
        place = next((line.strip() for line in reversed(lines) if "src/traindx" in line), "")
        kind = f"{failure['kind']}: {lines[-1][:150]} {place}"
        kinds[kind] += 1
        example.setdefault(kind, failure["input"])
    for kind, count in kinds.most_common():
        print(f"{count:6}  --only {example[kind]:<8} {kind}")
    print(", ".join(f"{name} {count}" for name, count in formats.most_common()))
    print(f"{kept['done']} inputs of seed {kept['seed']}: {len(kept['failures'])} failures, {kept['seconds']:.0f} s")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--inputs", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=10.0, help="limit for one input")
    parser.add_argument("--minutes", type=float, help="stop after so many; the state says how far it came")
    parser.add_argument("--state", default="fuzz.json")
    parser.add_argument("--corpus", default=str(Path(tempfile.gettempdir()) / "traindx-fuzz-corpus"))
    parser.add_argument("--only", type=int, metavar="N", help="this input alone, with its traceback")
    return parser.parse_args()


if __name__ == "__main__":
    raise SystemExit(main())
