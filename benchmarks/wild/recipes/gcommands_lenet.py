"""Keyword spotting: a LeNet on spectrograms of short sounds, each word a few gliding tones in noise, with early
stopping."""

import wave
from pathlib import Path

import numpy as np
from recipe import Recipe, Result

RATE = 4000  # of the samples; a quarter of the real one, so that the files and the network stay small
WORDS = {
    "down": (900, 500, 400), "go": (500, 450, 350), "left": (500, 900, 1200), "no": (450, 700, 400),
    "right": (900, 600, 1200),
    "stop": (1300, 600, 500), "up": (600, 500, 900), "yes": (1200, 800, 1400),
}  # fmt: skip


def spoken(word: str, draw: np.random.Generator) -> np.ndarray:
    """A word by one of many voices: own pitch, speed, loudness, start and noise."""
    voice = draw.uniform(0.85, 1.18)
    count = int(RATE * draw.uniform(0.35, 0.55))
    pitch = np.interp(np.linspace(0, 2, count), range(3), np.array(WORDS[word]) * voice * draw.uniform(0.95, 1.05, 3))
    phase = 2 * np.pi * np.cumsum(pitch) / RATE
    hum = np.sin(2 * np.pi * np.cumsum(np.full(count, 120 * voice)) / RATE)
    sound = (np.sin(phase) + 0.5 * hum) * np.hanning(count) * draw.uniform(0.4, 1.0)
    clip = draw.normal(0, draw.uniform(0.05, 0.25), int(RATE * 0.8))
    at = int(draw.integers(0, len(clip) - count))
    clip[at : at + count] += sound
    return (clip.clip(-2, 2) * 12000).astype("<i2")


def prepare(place: Path) -> None:
    for name in ("run.py", "train.py"):  # Written for an old torch.
        text = (place / name).read_text("utf-8")
        for old, new in (("num_workers=20", "num_workers=0"), (".data[0]", ".item()"), (", volatile=True", "")):
            text = text.replace(old, new)
        (place / name).write_text(text, "utf-8")
    draw = np.random.default_rng(0)
    for part, count in (("train", 40), ("valid", 8), ("test", 8)):
        for word in WORDS:
            folder = place / "gcommands" / part / word
            folder.mkdir(parents=True)
            for index in range(count):
                with wave.open(str(folder / f"{index:03}.wav"), "wb") as kept:
                    kept.setnchannels(1)
                    kept.setsampwidth(2)
                    kept.setframerate(RATE)
                    kept.writeframes(spoken(word, draw).tobytes())


RECIPE = Recipe(
    repository="adiyoss/GCommandsPytorch",
    commit="af9ccfd3d7c92e2850b1cf07214c02bf02c7bc7f",
    kind="speech command recognition, own loop",
    needs=("librosa", "soundfile", "numpy"),
    command=("run.py", "--epochs", "6", "--batch_size", "16", "--test_batch_size", "16"),
    files=("train.py", "run.py", "model.py", "gcommand_loader.py"),
    seconds=15,
    prepare=prepare,
    shorten=(
        ("model.py", r"Conv2d\(1, 20, ", "Conv2d(1, 8, "),
        ("model.py", r"Conv2d\(20, 20, ", "Conv2d(8, 8, "),
        ("model.py", r"16280, 1000", "1232, 128"),
        ("model.py", r"Linear\(1000, 30\)", "Linear(128, 30)"),
        ("train.py", r"import torch\.nn\.functional as F", "import torch\nimport torch.nn.functional as F"),
        ("train.py", r"def test\(", "@torch.no_grad()\ndef test("),
    ),
    result=Result(r"Test set: Average loss: ([\d.]+)", "lower"),
)
