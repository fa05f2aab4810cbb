"""Counts settled public threads by kind of training and group of causes.

    python benchmarks/field/priors.py THREADS.md [--write]

THREADS.md is a Markdown table with a row a thread: class, link to the issue, year, stratum, what it was, settled (Y, P
or N), and optionally the kind of training and the id of the cause. Only settled ones count. The cause says the family
of causes, or else the class does; where no kind is given, the repository says it. `--write` puts the counts into
src/traindx/engine/priors.json, where the engine reads them."""

from __future__ import annotations

import argparse
import json
import re
from collections import Counter, defaultdict
from pathlib import Path

from traindx.causes import causes
from traindx.engine.priors import family_of

TARGET = Path(__file__).parents[2] / "src/traindx/engine/priors.json"
GROUP_OF = {
    "NaN or loss exactly 0": "numerics",
    "spike, divergence, learning rate, initialisation": "learning rate",
    "LLM data": "data",
    "loss looks fine, model is bad": "data",
    "distributed arithmetic": "distributed",
    "no gradient": "wiring",
    "adapter save/merge/load, export": "wiring",
    "MoE": "wiring",
    "resume is not continuous": "optimisation",
    "diffusion/flow": "loss and output",
    "LLM-RL and preference": "reinforcement learning",
    "classic RL, robotics": "reinforcement learning",
    "loss and output": "loss and output",
    "optimisation settings": "optimisation",
}  # crashes, hangs, memory and faults of a library are no causes of the catalogue
_RL = re.compile(r"trl#(3857|3452)|verl|open-r1|ToolRL|RLHF|rl_lab|rsl_rl|cosmos-rl|ms-swift#4547|GEM|lerobot", re.I)
_VISION = re.compile(r"kohya|LTX|musubi|diffusion|autotrain|nepa|LLaVA|F5-TTS|spd|anemoi|FAP|yolo|mm(det|pose)", re.I)


def kind_of(link: str) -> str:
    if _RL.search(link):
        return "reinforcement learning"
    return "vision and other" if _VISION.search(link) else "language models"


def family(cells: list[str]) -> str | None:
    """Of the causes that settled this thread; None where it is none of the catalogue's."""
    cause = causes().get(cells[7]) if len(cells) > 7 else None
    if cause is not None:
        return None if cause.id == "healthy" else family_of(cause.group)
    return GROUP_OF.get(cells[0])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("threads", type=Path)
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    settled, years = 0, set()
    for line in arguments.threads.read_text().splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if len(cells) < 6 or "https://github.com" not in cells[1] or cells[5] != "Y":
            continue
        settled += 1
        years |= {int(year) for year in re.findall(r"20\d\d", cells[2])}
        kind = cells[6] if len(cells) > 6 and cells[6] else kind_of(cells[1])
        found = family(cells)
        if found is not None:
            counts[kind][found] += 1
    for kind, groups in counts.items():
        print(f"{kind}: {sum(groups.values())} " + ", ".join(f"{name} {n}" for name, n in groups.most_common()))
    if arguments.write:
        named = sum(map(Counter.total, counts.values()))
        source = (
            f"{settled} settled issue threads of {min(years)} to {max(years)}, {named} of them with a cause of the "
            "catalogue (benchmarks/field/priors.py)"
        )
        ordered = {kind: dict(sorted(groups.items())) for kind, groups in sorted(counts.items())}
        kept = json.loads(TARGET.read_text())
        TARGET.write_text(json.dumps({**kept, "source": source, "counts": ordered}, indent=1) + "\n")


if __name__ == "__main__":
    main()
