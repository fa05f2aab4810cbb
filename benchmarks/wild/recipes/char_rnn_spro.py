"""spro's char-rnn: a GRU over characters whose loop sums the loss step by step over a chunk of text."""

from pathlib import Path

from data import text
from recipe import Recipe, Result


def prepare(place: Path) -> None:
    text(place / "shakespeare.txt", lines=20000)


RECIPE = Recipe(
    repository="spro/char-rnn.pytorch",
    commit="282bcb6b15ab3929d6a588b455cfc0f19f32add4",
    kind="recurrent language model, own loop",
    needs=("tqdm", "Unidecode"),
    command=(
        "train.py", "shakespeare.txt", "--n_epochs", "250", "--print_every", "50", "--hidden_size", "64", "--chunk_len",
        "40",
        "--batch_size", "24",
    ),
    files=("train.py", "model.py", "helpers.py", "generate.py"),
    seconds=13,
    prepare=prepare,
    shorten=(("train.py", r"loss\.data\[0\]", "loss.item()"),),  # removed from PyTorch
    result=Result(r"\d+%\) (\S+)\]", "lower"),
)  # fmt: skip
