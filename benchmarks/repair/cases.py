"""What is repaired: programs with a known fault and a healthy twin, from a directory or from the fault zoo."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from traindx.causes import causes
from traindx.fixes import fixes
from traindx.trials.setting import at_run_time, combined

ZOO = Path(__file__).resolve().parents[1] / "zoo"
SPECIMEN = Path(__file__).with_name("specimen.py")
HEALTHY = "healthy"
SCRIPT = "train.py"
HEALTHY_SHARE = 0.25  # of the zoo's cases
LESS_DATA = frozenset({"overfitting"})  # the twin has data that the script has not
# the zoo takes data away, scales them or sets another rate along with these, which no single change brings back
MORE_THAN_ONE = frozenset(
    {"batch-too-small", "class-imbalance", "division-by-zero", "fp16-overflow", "low-precision-update-lost",
     "lr-decay-missing", "warmup-missing"}
)  # fmt: skip


@dataclass(frozen=True)
class Program:
    """A folder with train.py in it, or one file that becomes train.py, and the arguments it is given."""

    source: Path
    arguments: tuple[str, ...] = ()

    def put(self, folder: Path) -> Path:
        if self.source.is_dir():
            shutil.copytree(self.source, folder)
        else:
            folder.mkdir(parents=True)
            shutil.copy(self.source, folder / SCRIPT)
        return folder / SCRIPT


@dataclass(frozen=True)
class Case:
    name: str
    cause: str
    program: Program
    twin: Program | None
    source: str  # 'programs' or 'zoo'
    of_degree: bool = False  # where the damage is nil, there is no fault

    @property
    def fixable(self) -> bool:
        """The catalogue names a change for the cause that can be tried: on any script in its source, and where the
        training lies in a library, as the zoo's does, while it runs. Faults that come with a second change are none of
        these."""
        if self.cause == HEALTHY or self.cause in LESS_DATA or (self.source == "zoo" and self.cause in MORE_THAN_ONE):
            return False
        texts = [text for fix in causes()[self.cause].fixes for text in fixes()[fix].tries]
        return bool(texts) and (self.source != "zoo" or any(at_run_time(combined(_filled(text))) for text in texts))


def _filled(text: str) -> str:
    return text.split("{", 1)[0] + "1" if "{" in text else text


def from_directory(programs: Path, only: Sequence[str]) -> Iterator[Case]:
    """`labels.jsonl` names case, cause and healthy twin; each has a folder."""
    for line in (programs / "labels.jsonl").read_text().splitlines():
        if not line.strip():
            continue
        label = json.loads(line)
        if only and not any(name in label["case"] for name in only):
            continue
        twin = Program(programs / label["healthy_twin"]) if label["healthy_twin"] else None
        yield Case(label["case"], label["cause"], Program(programs / label["case"]), twin, "programs")


def from_zoo(count: int, seed: int, only: Sequence[str]) -> Iterator[Case]:
    """Single faults in turn, on tasks, optimisers and levels drawn from the seed, and healthy variants between them."""
    sys.path.insert(0, str(ZOO))
    from faults import DEGREE  # the zoo's modules know each other by their bare names
    from plan import build, plan

    found = 0
    for spec in plan(10 * count, seed, HEALTHY_SHARE):
        setup, _, _ = build(spec)
        if len(spec.causes) > 1 or setup.pretrained or setup.steps is not None:
            continue
        if found >= count:
            return
        found += 1
        cause = spec.causes[0] if spec.causes else HEALTHY
        name = f"zoo{seed}-{spec.name}-{cause}-{spec.task}-{spec.optimizer}-{spec.level}"
        if only and not any(one in name for one in only):
            continue
        words = (
            "--task",
            spec.task,
            "--optimizer",
            spec.optimizer,
            "--seed",
            str(spec.seed),
            "--variant",
            spec.variant,
        )
        fault = ("--fault", cause, "--level", str(spec.level)) if spec.causes else ()
        twin = Program(SPECIMEN, words) if spec.causes else None
        yield Case(name, cause, Program(SPECIMEN, (*words, *fault)), twin, "zoo", cause in DEGREE)
