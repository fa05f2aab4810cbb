"""TRL's script for supervised fine-tuning of a chat model."""

import random
from pathlib import Path

from data import WORDS
from recipe import Recipe, Result
from recipes._hugging_face import HOME, data_set, keep, llama


def chats(count: int, seed: int = 0) -> list[dict[str, object]]:
    """Somebody says what a person does; the answer asks why and repeats it."""
    draw = random.Random(seed)
    rows: list[dict[str, object]] = []
    for _ in range(count):
        who, does, what = (draw.choice(WORDS[kind]) for kind in ("who", "does", "what"))
        asked = {"role": "user", "content": f"{who} {does} {what}.".capitalize()}
        answered = {"role": "assistant", "content": f"And {draw.choice(WORDS['how'])} {who} {does} {what}."}
        rows.append({"messages": [asked, answered]})
    return rows


def prepare(place: Path) -> None:
    keep(place, "trl/scripts/sft.py", "LICENSE")
    folder = place / "trl" / "scripts"
    data_set(folder / "chats", {"train": chats(1600), "test": chats(100, seed=1)})
    llama(folder / "tiny-llama", chat=True)


RECIPE = Recipe(
    repository="huggingface/trl",
    commit="f2cd57710ae345ea6428ae95363267fcf38a3dc8",
    kind="supervised fine-tuning with TRL",
    needs=("trl", "transformers", "datasets", "accelerate"),
    folder="trl/scripts",
    command=(
        "sft.py", "--model_name_or_path", "tiny-llama", "--dataset_name", "chats", "--learning_rate", "2e-3",
        "--num_train_epochs",
        "1", "--per_device_train_batch_size", "8", "--per_device_eval_batch_size", "20", "--max_length", "64",
        "--eval_strategy",
        "steps", "--eval_steps", "50", "--logging_steps", "10", "--report_to", "none", "--output_dir", "out",
        "--use_cpu",
        "--bf16", "false", "--gradient_checkpointing", "false", "--save_strategy", "no", "--dtype", "float32",
    ),
    files=("trl/scripts/sft.py",),
    seconds=11,
    prepare=prepare,
    environment=HOME,
    result=Result(r"'eval_loss': '?([\d.]+)", "lower"),
)  # fmt: skip
