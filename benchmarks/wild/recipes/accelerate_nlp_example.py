"""Accelerate's example that fine-tunes a BERT on pairs of sentences laid out as MRPC."""

from pathlib import Path

from recipe import Recipe, Result
from recipes._hugging_face import HOME, bert, data_set, keep, metric, pairs


def prepare(place: Path) -> None:
    keep(place, "examples/nlp_example.py", "LICENSE")
    folder = place / "examples"
    train = pairs(1280)
    data_set(folder / "nyu-mll" / "glue", {"train": train, "validation": pairs(256, seed=1)}, config="mrpc")
    bert(folder / "bert-base-cased", [f"{row['sentence1']} {row['sentence2']}" for row in train], updates=100)
    metric(folder, "glue")


RECIPE = Recipe(
    repository="huggingface/accelerate",
    commit="16cb6eb80dd9aa8b4df1a63ef57863e455d53b83",
    kind="text classification, own loop with accelerate",
    needs=("accelerate", "transformers", "datasets", "evaluate"),
    folder="examples",
    command=("nlp_example.py", "--cpu"),
    files=("examples/nlp_example.py",),
    seconds=12,
    prepare=prepare,
    environment=HOME,
    shorten=(
        ("examples/nlp_example.py", r'"lr": 2e-5', '"lr": 5e-4'),
        ("examples/nlp_example.py", r"num_warmup_steps=100", "num_warmup_steps=20"),
    ),
    result=Result(r"'accuracy': ([\d.]+)", "higher"),
)  # fmt: skip
