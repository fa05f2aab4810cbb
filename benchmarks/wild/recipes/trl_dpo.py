"""TRL's script for direct preference optimisation of a chat model."""

import random
from pathlib import Path

from data import WORDS
from recipe import Recipe, Result
from recipes._hugging_face import HOME, data_set, keep, llama, teach


def preferences(count: int, seed: int = 0) -> list[dict[str, object]]:
    """An answer that ends quietly is mostly liked better than one that does not."""
    draw = random.Random(seed)
    rows: list[dict[str, object]] = []
    for _ in range(count):
        who, does, what = (draw.choice(WORDS[kind]) for kind in ("who", "does", "what"))
        good, bad = draw.choice(WORDS["how"][:3]), draw.choice(WORDS["how"][3:])
        if draw.random() < 0.05:
            good, bad = bad, good
        told = f"{who} {does}".capitalize()
        rows.append(
            {
                "prompt": [{"role": "user", "content": told}],
                "chosen": [{"role": "assistant", "content": f"{what} {good}."}],
                "rejected": [{"role": "assistant", "content": f"{what} {bad}."}],
            }
        )
    return rows


def prepare(place: Path) -> None:
    keep(place, "trl/scripts/dpo.py", "LICENSE")
    folder = place / "trl" / "scripts"
    train = preferences(1200)
    data_set(folder / "preferences", {"train": train, "test": preferences(100, seed=1)})
    llama(folder / "tiny-llama", chat=True)
    draw = random.Random(0)
    lines = []
    for row in train:
        answer = row[draw.choice(["chosen", "rejected"])]
        assert isinstance(answer, list)
        assert isinstance(row["prompt"], list)
        lines.append(f"<|user|>{row['prompt'][0]['content']}</s><|assistant|>{answer[0]['content']}</s>")
    teach(folder / "tiny-llama", lines)


RECIPE = Recipe(
    repository="huggingface/trl",
    commit="f2cd57710ae345ea6428ae95363267fcf38a3dc8",
    kind="DPO with TRL",
    needs=("trl", "transformers", "datasets", "accelerate"),
    folder="trl/scripts",
    command=(
        "dpo.py", "--model_name_or_path", "tiny-llama", "--dataset_name", "preferences", "--learning_rate", "5e-5",
        "--num_train_epochs", "1", "--per_device_train_batch_size", "8", "--per_device_eval_batch_size", "20",
        "--max_length", "64",
        "--eval_strategy", "steps", "--eval_steps", "50", "--logging_steps", "10", "--report_to", "none",
        "--output_dir", "out",
        "--use_cpu", "--bf16", "false", "--gradient_checkpointing", "false", "--save_strategy", "no", "--dtype",
        "float32",
        "--no_remove_unused_columns",
    ),
    files=("trl/scripts/dpo.py",),
    seconds=12,
    prepare=prepare,
    environment=HOME,
    result=Result(r"'eval_loss': '?([\d.]+)", "lower"),
)  # fmt: skip
