"""The bigram model of the lecture "Let's build GPT": one script, on characters of Shakespeare."""

from pathlib import Path

from recipe import Recipe, Result


def prepare(place: Path) -> None:
    (place / "more.txt").unlink()


RECIPE = Recipe(
    repository="karpathy/ng-video-lecture",
    commit="52201428ed7b46804849dea0b3ccf0de9df1a5c3",
    kind="bigram language model, one script",
    command=("bigram.py",),
    files=("bigram.py",),
    seconds=4,
    prepare=prepare,
    shorten=(
        ("bigram.py", r"(?m)^max_iters = 3000", "max_iters = 600"),
        ("bigram.py", r"(?m)^eval_interval = 300", "eval_interval = 100"),
        ("bigram.py", r"(?m)^eval_iters = 200", "eval_iters = 40"),
    ),
    result=Result(r"val loss (\S+)", "lower"),
)
