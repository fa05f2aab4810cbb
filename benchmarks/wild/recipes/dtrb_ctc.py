"""Scene text recognition (convolutions, BiLSTM and CTC) on pictures of short numbers, from LMDB files."""

import io
import shutil
from pathlib import Path

import numpy as np
from data import GLYPHS
from recipe import Recipe, Result


def picture(word: str, draw: np.random.Generator) -> bytes:
    from PIL import Image

    shapes = [
        np.array([[int(dot) for dot in row] for row in GLYPHS[int(letter)].split()], dtype=float) for letter in word
    ]
    line = np.concatenate([np.pad(shape, ((1, 1), (1, 1))) for shape in shapes], axis=1)
    canvas = np.kron(line, np.ones((3, 3))) * draw.uniform(0.6, 1.0)
    canvas = (canvas + draw.normal(0, 0.05, canvas.shape)).clip(0, 1)
    kept = io.BytesIO()
    Image.fromarray((255 * canvas).astype(np.uint8)).save(kept, "PNG")
    return kept.getvalue()


def prepare(place: Path) -> None:
    import lmdb

    for name in ("figures", "demo_image"):
        shutil.rmtree(place / name)
    for part, count, seed in (("train/MJ", 1200, 0), ("valid", 200, 1)):
        draw = np.random.default_rng(seed)
        (place / "data" / part).mkdir(parents=True)
        with lmdb.open(str(place / "data" / part), map_size=8 << 20) as kept, kept.begin(write=True) as writing:
            writing.put(b"num-samples", str(count).encode())
            for index in range(1, count + 1):
                word = "".join(str(draw.integers(10)) for _ in range(4))
                writing.put(b"image-%09d" % index, picture(word, draw))
                writing.put(b"label-%09d" % index, word.encode())


RECIPE = Recipe(
    repository="clovaai/deep-text-recognition-benchmark",
    commit="e2117f2fb882b3c6085030500a260c113be27a63",
    kind="text recognition with CTC, own loop",
    needs=("torchvision", "lmdb", "natsort", "nltk", "six", "pillow"),
    command=(
        "train.py", "--train_data=data/train", "--valid_data=data/valid", "--select_data=MJ", "--batch_ratio=1",
        "--workers=0",
        "--Transformation=None", "--FeatureExtraction=VGG", "--SequenceModeling=BiLSTM", "--Prediction=CTC",
        "--character=0123456789",
        "--output_channel=64", "--hidden_size=64", "--batch_size=32", "--num_iter=220", "--valInterval=110",
        "--imgW=60",
    ),
    files=("train.py", "model.py", "dataset.py", "modules/feature_extraction.py", "modules/sequence_modeling.py"),
    seconds=17,
    prepare=prepare,
    shorten=(("dataset.py", r"from torch\._utils import _accumulate",
              "from itertools import accumulate as _accumulate"),),
    result=Result(r"Valid loss: (\S+),", "lower"),
)  # fmt: skip
