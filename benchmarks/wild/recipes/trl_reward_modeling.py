"""TRL's example that trains a reward model on pairs of a preferred and a rejected answer."""

import random
from pathlib import Path

from data import WORDS
from recipe import Recipe, Result
from recipes._hugging_face import HOME, MOODS, data_set, keep, llama

FOLDER = "examples/scripts"


def preferences(count: int, seed: int = 0) -> list[dict[str, object]]:
    """A glad answer is mostly liked better than an angry one."""
    draw = random.Random(seed)
    rows: list[dict[str, object]] = []
    for _ in range(count):
        prompt = {
            "role": "user",
            "content": f"{draw.choice(WORDS['who'])} {draw.choice(WORDS['does'])} {draw.choice(WORDS['what'])}.",
        }
        glad, angry = (f"He {draw.choice(MOODS[mood])} {draw.choice(WORDS['how'])}." for mood in ("glad", "angry"))
        if draw.random() < 0.05:
            glad, angry = angry, glad
        chosen, rejected = ([prompt, {"role": "assistant", "content": answer}] for answer in (glad, angry))
        rows.append({"chosen": chosen, "rejected": rejected})
    return rows


def prepare(place: Path) -> None:
    keep(place, f"{FOLDER}/reward_modeling.py", "LICENSE")
    folder = place / FOLDER
    data_set(folder / "preferences", {"train": preferences(1200), "test": preferences(100, seed=1)})
    llama(folder / "tiny-llama", chat=True)


RECIPE = Recipe(
    repository="huggingface/trl",
    commit="f2cd57710ae345ea6428ae95363267fcf38a3dc8",
    kind="reward model with TRL",
    needs=("trl", "transformers", "datasets", "accelerate"),
    folder=FOLDER,
    command=(
        "reward_modeling.py", "--model_name_or_path", "tiny-llama", "--dataset_name", "preferences", "--learning_rate",
        "3e-4",
        "--num_train_epochs", "1", "--per_device_train_batch_size", "8", "--per_device_eval_batch_size", "20",
        "--max_length", "96",
        "--eval_strategy", "steps", "--eval_steps", "50", "--logging_steps", "10", "--report_to", "none",
        "--output_dir", "out",
        "--use_cpu", "--bf16", "false", "--gradient_checkpointing", "false", "--save_strategy", "no", "--dtype",
        "float32",
    ),
    files=(f"{FOLDER}/reward_modeling.py",),
    seconds=11,
    prepare=prepare,
    environment=HOME,
    result=Result(r"eval_accuracy\s*=\s*(\S+)", "higher"),
)  # fmt: skip
