"""PEFT's OLoRA example: adapters with orthonormal starting values tune a small Llama to follow instructions, with the
Trainer."""

import random
import runpy
from pathlib import Path

from data import json_lines, sentences
from recipe import Recipe, Result
from recipes._hugging_face import HOME, keep, llama, teach

FOLDER = "examples/olora_finetuning"


def instructions(count: int, seed: int = 0, known: bool = False) -> list[dict[str, object]]:
    """Say a part of a line."""
    draw = random.Random(seed)
    rows: list[dict[str, object]] = []
    for line in sentences(count, seed + 200):
        words = line.rstrip(".").split()
        tasks = [("the whole of", " ".join(words)), ("the second word of", words[1])]
        tasks = tasks if known else [("the first words of", " ".join(words[:3])), ("the last word of", words[-1])]
        task, answer = draw.choice(tasks)
        rows.append({"instruction": f"{task}: {line}", "output": f"{answer}."})
    return rows


def prepare(place: Path) -> None:
    keep(place, f"{FOLDER}/olora_finetuning.py", "LICENSE")
    folder = place / FOLDER
    json_lines(folder / "instructions" / "train.jsonl", instructions(2000))
    prompt = runpy.run_path(str(folder / "olora_finetuning.py"))["generate_prompt"]
    lines = [prompt(row) + "</s>" for row in instructions(2000, seed=1, known=True)]
    llama(folder / "tiny-llama", lines=[*sentences(2000), *lines])
    teach(folder / "tiny-llama", lines)


RECIPE = Recipe(
    repository="huggingface/peft",
    commit="5d602fdbff04c33c1c4de55cda9d4ae1d7cb7e40",
    kind="OLoRA of a language model, transformers Trainer",
    needs=("peft", "transformers", "datasets", "accelerate"),
    folder=FOLDER,
    command=(
        "olora_finetuning.py", "--base_model", "tiny-llama", "--data_path", "instructions", "--device_map", "cpu",
        "--dtype",
        "float32", "--batch_size", "8", "--learning_rate", "3e-3", "--lora_r", "8", "--val_set_size", "100",
        "--eval_step", "40",
        "--save_step", "40",
    ),
    files=(f"{FOLDER}/olora_finetuning.py",),
    seconds=13,
    prepare=prepare,
    environment=HOME,
    shorten=(
        (f"{FOLDER}/olora_finetuning.py", r"warmup_steps=100", "warmup_steps=20"),
        (f"{FOLDER}/olora_finetuning.py", r"logging_steps=100", "logging_steps=20"),
    ),
    result=Result(r"'eval_loss': '?([\d.]+)", "lower"),
)  # fmt: skip
