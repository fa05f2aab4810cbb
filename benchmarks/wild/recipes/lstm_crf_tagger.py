"""A bidirectional recurrent network with a conditional random field that tags the words of sentences, with its own
loop."""

import random
import subprocess
import sys
from pathlib import Path

from data import WORDS
from recipe import Recipe, Result

TAGS = {"who": "PER", "does": "ACT", "what": "OBJ", "how": "WAY"}


def tagged(draw: random.Random) -> str:
    words = []
    for kind in ("who", "does", "what", "how")[: draw.choice((3, 4))]:
        for place, word in enumerate(draw.choice(WORDS[kind]).split()):
            words.append(f"{word}/{'I' if place else 'B'}-{TAGS[kind]}")
    return " ".join(words)


def prepare(place: Path) -> None:
    draw = random.Random(0)
    for name, count in (("train", 1000), ("valid", 150)):
        (place / name).write_text("\n".join(tagged(draw) for _ in range(count)) + "\n", "utf-8")
    subprocess.run([sys.executable, "prepare.py", "train"], cwd=place, check=True, capture_output=True)


RECIPE = Recipe(
    repository="threelittlemonkeys/lstm-crf-pytorch",
    commit="84618e7d94d4ed274a0e6d833772449cf4378289",
    kind="sequence tagging with a CRF, own loop",
    needs=("numpy",),
    command=(
        "train.py",
        "model",
        "train.char_to_idx",
        "train.word_to_idx",
        "train.tag_to_idx",
        "train.csv",
        "valid",
        "5",
    ),
    files=("train.py", "rnn_crf.py", "crf.py", "rnn_encoder.py", "parameters.py"),
    seconds=7,
    prepare=prepare,
    shorten=(
        (
            "utils.py",
            r"(torch\.randn\(\*x\))\.cuda\(\) if CUDA else torch\.randn",
            r"\1",
        ),  # these two fail without a GPU
        ("utils.py", r"(torch\.zeros\(\*x\))\.cuda\(\) if CUDA else torch\.zeros", r"\1"),
        ("parameters.py", r"BATCH_SIZE = 64", "BATCH_SIZE = 24"),
        ("parameters.py", r'"lookup": 300', '"lookup": 32'),
        ("parameters.py", r"HIDDEN_SIZE = 1000", "HIDDEN_SIZE = 64"),
        ("parameters.py", r"LEARNING_RATE = 2e-4", "LEARNING_RATE = 1e-3"),
        ("parameters.py", r"EVAL_EVERY = 10", "EVAL_EVERY = 1"),
    ),
    result=Result(r"micro f1 = (\S+)", "higher"),
)
