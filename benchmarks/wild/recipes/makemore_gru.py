"""makemore's recurrent network with GRU cells on a list of names, with the loop of that single file."""

from recipe import Recipe, Result

RECIPE = Recipe(
    repository="karpathy/makemore",
    commit="988aa59e4d8fefa526d06f3b453ad116258398d4",
    kind="recurrent language model of names, own loop",
    command=("makemore.py", "-n", "0", "--max-steps", "501", "--type", "gru"),
    files=("makemore.py",),
    seconds=8,
    needs=("tensorboard",),
    result=Result(r"test loss: (\S+)", "lower"),
)
