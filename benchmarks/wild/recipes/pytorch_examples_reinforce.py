"""The REINFORCE example of pytorch/examples, on CartPole: one update an episode."""

import shutil
from pathlib import Path

from recipe import Recipe, Result


def prepare(place: Path) -> None:
    for path in place.iterdir():
        if path.is_dir() and path.name != "reinforcement_learning":
            shutil.rmtree(path)


RECIPE = Recipe(
    repository="pytorch/examples",
    commit="77f55b912142e11fcfdf5b530231fb9c52f181e8",
    kind="reinforcement learning, REINFORCE, own loop",
    needs=("gymnasium", "numpy"),
    command=("reinforce.py",),
    files=("reinforcement_learning/reinforce.py",),
    folder="reinforcement_learning",
    seconds=14,
    prepare=prepare,
    shorten=(("reinforcement_learning/reinforce.py", r"in count\(1\)", "in range(1, 201)"),),
    result=Result(r"Average reward: ([\d.]+)", "higher"),
)
