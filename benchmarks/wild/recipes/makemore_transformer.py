"""makemore's transformer on a list of names, with the loop of that single file."""

from recipe import Recipe, Result

RECIPE = Recipe(
    repository="karpathy/makemore",
    commit="988aa59e4d8fefa526d06f3b453ad116258398d4",
    kind="language model of names, own loop",
    command=("makemore.py", "-n", "0", "--max-steps", "501", "--n-layer", "2"),
    files=("makemore.py",),
    seconds=11,
    needs=("tensorboard",),
    result=Result(r"test loss: (\S+)", "lower"),
)
