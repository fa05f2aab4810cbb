"""Kim's convolutional network for sentence classification, on reviews in the form of the movie review data."""

import random
from pathlib import Path

from data import sentences
from recipe import Recipe, Result

GOOD = "moving warm funny clever fresh charming tender gripping honest brilliant lively wise bold graceful witty sweet".split()  # noqa: E501
BAD = "dull flat clumsy stale lifeless boring cold shallow tedious awful empty foolish timid heavy bland bitter".split()


def prepare(place: Path) -> None:
    draw = random.Random(0)
    folder = place / "rt-polaritydata"
    folder.mkdir()
    for part, most, least in (("pos", GOOD, BAD), ("neg", BAD, GOOD)):
        lines = []
        for sentence in sentences(1500, seed=len(most[0])):
            words = draw.choices(most, k=3) + draw.choices(least, k=2)
            draw.shuffle(words)
            lines.append(
                f"{words[0]} but {words[1]} when {sentence.lower()[:-1]} , {words[2]} and {words[3]} , even {words[4]}"
            )
        (folder / f"rt-polarity.{part}").write_text("\n".join(lines) + "\n", "utf-8")


RECIPE = Recipe(
    repository="Shawn1993/cnn-text-classification-pytorch",
    commit="93415f08168a1ae60635320569f6eca0ae3a40bb",
    kind="text classification, own loop",
    command=(
        "main.py", "-no-cuda", "-epochs", "6", "-batch-size", "64", "-embed-dim", "64", "-kernel-num", "32",
        "-test-interval", "43",
        "-log-interval", "10",
    ),
    files=("train.py", "main.py", "model.py", "mydatasets.py"),
    seconds=8,
    prepare=prepare,
    result=Result(r"Evaluation - loss: \S+  acc: ([\d.]+)%", "higher"),
)  # fmt: skip
