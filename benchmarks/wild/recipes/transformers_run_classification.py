"""The example that fine-tunes a BERT to classify the sentences of a JSON file with the Trainer."""

from pathlib import Path

from data import json_lines
from recipe import Recipe, Result
from recipes._hugging_face import HOME, bert, keep, metric, moods

FOLDER = "examples/pytorch/text-classification"


def prepare(place: Path) -> None:
    keep(place, f"{FOLDER}/run_classification.py", "LICENSE")
    folder = place / FOLDER
    train = moods(2000)
    json_lines(folder / "train.json", train)
    json_lines(folder / "validation.json", moods(300, seed=1))
    bert(folder / "tiny-bert", [str(row["sentence"]) for row in train], updates=100)
    metric(folder, "accuracy")


RECIPE = Recipe(
    repository="huggingface/transformers",
    commit="d56c55bf564ddb176759eb6ec199442682564916",
    kind="text classification, transformers Trainer",
    needs=("transformers", "datasets", "evaluate", "accelerate"),
    folder=FOLDER,
    command=(
        "run_classification.py", "--model_name_or_path", "tiny-bert", "--train_file", "train.json", "--validation_file",
        "validation.json", "--do_train", "--do_eval", "--max_seq_length", "40", "--per_device_train_batch_size", "16",
        "--per_device_eval_batch_size", "50", "--learning_rate", "1e-3", "--num_train_epochs", "3", "--eval_strategy",
        "epoch",
        "--logging_steps", "25", "--report_to", "none", "--output_dir", "out", "--use_cpu", "--log_level", "warning",
        "--save_strategy", "no", "--shuffle_train_dataset",
    ),
    files=(f"{FOLDER}/run_classification.py",),
    seconds=16,
    prepare=prepare,
    environment=HOME,
    result=Result(r"eval_accuracy\s*=\s*(\S+)", "higher"),
)  # fmt: skip
