"""Counts settled public threads by kind of training and group of causes.

    python benchmarks/field/priors.py THREADS.md [--write]

THREADS.md is a Markdown table with a row a thread: class, link to the issue, year, stratum, what it was, settled (Y, P
or N). Only settled ones count. The class says the group of causes, the repository the kind of training. `--write` puts
the counts into src/traindx/engine/priors.json, where the engine reads them."""

from __future__ import annotations

import argparse
import json
import re
from collections import Counter, defaultdict
from pathlib import Path

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
    "regression of a library, kernel or compiler": "optimisation",
    "diffusion/flow": "loss and output",
    "LLM-RL and preference": "reinforcement learning",
    "classic RL, robotics": "reinforcement learning",
}  # crashes, hangs and memory are no causes of the catalogue
_RL = re.compile(r"trl#(3857|3452)|verl|open-r1|ToolRL|RLHF|rl_lab|rsl_rl|cosmos-rl|ms-swift#4547|GEM|lerobot", re.I)
_VISION = re.compile(r"kohya|LTX|musubi|diffusion|autotrain|nepa|LLaVA|F5-TTS|spd|anemoi|FAP|yolo|mm(det|pose)", re.I)


def kind_of(link: str) -> str:
    if _RL.search(link):
        return "reinforcement learning"
    return "vision and other" if _VISION.search(link) else "language models"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("threads", type=Path)
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    settled = 0
    for line in arguments.threads.read_text().splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if len(cells) < 6 or "https://github.com" not in cells[1] or cells[5] != "Y":
            continue
        settled += 1
        if cells[0] in GROUP_OF:
            counts[kind_of(cells[1])][GROUP_OF[cells[0]]] += 1
    for kind, groups in counts.items():
        print(f"{kind}: {sum(groups.values())} " + ", ".join(f"{name} {n}" for name, n in groups.most_common()))
    if arguments.write:
        source = (
            f"{settled} settled issue threads of 2023-26, {sum(map(Counter.total, counts.values()))} of them with a "
            "cause of the catalogue's groups (benchmarks/field/priors.py)"
        )
        ordered = {kind: dict(sorted(groups.items())) for kind, groups in sorted(counts.items())}
        TARGET.write_text(json.dumps({"source": source, "counts": ordered}, indent=1) + "\n")


if __name__ == "__main__":
    main()
