"""The example that trains a causal language model on a text file with the Trainer."""

from pathlib import Path

from data import text
from recipe import Recipe, Result
from recipes._hugging_face import HOME, keep, llama, metric

FOLDER = "examples/pytorch/language-modeling"


def prepare(place: Path) -> None:
    keep(place, f"{FOLDER}/run_clm.py", "LICENSE")
    folder = place / FOLDER
    text(folder / "train.txt", lines=5000)
    text(folder / "validation.txt", lines=300, seed=1)
    llama(folder / "tiny-llama")
    metric(folder, "accuracy")


RECIPE = Recipe(
    repository="huggingface/transformers",
    commit="d56c55bf564ddb176759eb6ec199442682564916",
    kind="language model, transformers Trainer",
    needs=("transformers", "datasets", "evaluate", "accelerate"),
    folder=FOLDER,
    command=(
        "run_clm.py", "--model_name_or_path", "tiny-llama", "--train_file", "train.txt", "--validation_file",
        "validation.txt",
        "--do_train", "--do_eval", "--block_size", "64", "--per_device_train_batch_size", "8",
        "--per_device_eval_batch_size", "8",
        "--learning_rate", "2e-3", "--num_train_epochs", "2", "--eval_strategy", "epoch", "--logging_steps", "20",
        "--report_to", "none", "--output_dir", "out", "--use_cpu", "--log_level", "warning", "--save_strategy", "no",
    ),
    files=(f"{FOLDER}/run_clm.py",),
    seconds=13,
    prepare=prepare,
    environment=HOME,
    result=Result(r"eval_loss\s*=\s*(\S+)", "lower"),
)  # fmt: skip
