"""The example that fine-tunes a BERT to tag names of people and places, with its own loop on accelerate."""

import random
from pathlib import Path

from data import WORDS, json_lines
from recipe import Recipe, Result
from recipes._hugging_face import HOME, bert, keep, metric

FOLDER = "examples/pytorch/token-classification"
FIRST = "Anna Bruno Carla Dario Elena Fabio Gina Hugo Florence Austin Sydney Paris".split()
LAST = "Rossi Bianchi Conti Marino Greco".split()
PLACES = "Verona|Padua|Mantua|Old Harbour|North Field|Messina|Florence|Austin|Sydney|Paris".split("|")


def tagged(count: int, seed: int = 0) -> list[dict[str, object]]:
    """Some names are of people and of places: which one is meant is only seen from the sentence."""
    draw = random.Random(seed)
    rows: list[dict[str, object]] = []
    for _ in range(count):
        person = [draw.choice(FIRST), *([draw.choice(LAST)] if draw.random() < 0.4 else [])]
        place = draw.choice(PLACES).split()
        who, where = (
            list(zip(words, [f"B-{kind}", f"I-{kind}"][: len(words)], strict=True))
            for words, kind in ((person, "PER"), (place, "LOC"))
        )
        does = [(word, "O") for word in f"{draw.choice(WORDS['does'])} {draw.choice(WORDS['what'])}".split()]
        inside = [(draw.choice(["in", "near"]), "O"), *where]
        line = [*who, *does, *inside] if draw.random() < 0.6 else [*inside, *who, *does]
        rows.append({"tokens": [word for word, _ in line], "ner_tags": [tag for _, tag in line]})
    return rows


def prepare(place: Path) -> None:
    keep(place, f"{FOLDER}/run_ner_no_trainer.py", "LICENSE")
    folder = place / FOLDER
    train = tagged(1600)
    json_lines(folder / "train.json", train)
    json_lines(folder / "validation.json", tagged(200, seed=1))
    bert(folder / "tiny-bert", [" ".join(map(str, row["tokens"])) for row in train], updates=100)
    metric(folder, "seqeval")


RECIPE = Recipe(
    repository="huggingface/transformers",
    commit="d56c55bf564ddb176759eb6ec199442682564916",
    kind="token classification, own loop with accelerate",
    needs=("transformers", "datasets", "evaluate", "accelerate"),
    folder=FOLDER,
    command=(
        "run_ner_no_trainer.py", "--model_name_or_path", "tiny-bert", "--train_file", "train.json", "--validation_file",
        "validation.json", "--per_device_train_batch_size", "16", "--per_device_eval_batch_size", "50",
        "--learning_rate", "3e-4",
        "--num_train_epochs", "3", "--output_dir", "out",
    ),
    files=(f"{FOLDER}/run_ner_no_trainer.py",),
    seconds=13,
    prepare=prepare,
    environment=HOME,
    result=Result(r"'f1': ([\d.]+)", "higher"),
)  # fmt: skip
