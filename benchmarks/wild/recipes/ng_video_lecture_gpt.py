"""The GPT of the lecture "Let's build GPT": one script with its constants at the top, on characters of Shakespeare."""

from pathlib import Path

from recipe import Recipe, Result


def prepare(place: Path) -> None:
    (place / "more.txt").unlink()


RECIPE = Recipe(
    repository="karpathy/ng-video-lecture",
    commit="52201428ed7b46804849dea0b3ccf0de9df1a5c3",
    kind="language model, one script",
    command=("gpt.py",),
    files=("gpt.py",),
    seconds=12,
    prepare=prepare,
    shorten=(
        ("gpt.py", r"(?m)^batch_size = 64", "batch_size = 16"),
        ("gpt.py", r"(?m)^block_size = 256", "block_size = 32"),
        ("gpt.py", r"(?m)^max_iters = 5000", "max_iters = 400"),
        ("gpt.py", r"(?m)^eval_interval = 500", "eval_interval = 100"),
        ("gpt.py", r"(?m)^learning_rate = 3e-4", "learning_rate = 1e-3"),
        ("gpt.py", r"(?m)^eval_iters = 200", "eval_iters = 20"),
        ("gpt.py", r"(?m)^n_embd = 384", "n_embd = 64"),
        ("gpt.py", r"(?m)^n_head = 6", "n_head = 4"),
        ("gpt.py", r"(?m)^n_layer = 6", "n_layer = 2"),
        ("gpt.py", r"(?m)^print\(decode\(m\.generate\(context, max_new_tokens=500", "print(decode(m.generate(context, "
                                                                                    "max_new_tokens=100"),
    ),
    result=Result(r"val loss (\S+)", "lower"),
)  # fmt: skip
