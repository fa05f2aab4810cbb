"""Deep clustering in two phases: an autoencoder is pretrained, then trained on with a clustering loss and centres from
k-means."""

from pathlib import Path

import numpy as np
from data import GLYPHS
from recipe import Recipe, Result

WIDTHS = {
    "enc_1": (500, 128),
    "enc_2": (500, 128),
    "enc_3": (1000, 256),
    "dec_1": (1000, 256),
    "dec_2": (500, 128),
    "dec_3": (500, 128),
}


def centred(count: int, draw: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Soft digits near the middle: a network without convolutions cannot group the far shifted, sharp ones of
    data.digits."""
    from scipy.ndimage import gaussian_filter

    shapes = [
        np.kron(np.array([[float(dot) for dot in row] for row in glyph.split()]), np.ones((3, 3))) for glyph in GLYPHS
    ]
    soft = [gaussian_filter(np.pad(shape, ((3, 4), (6, 7))), 1.5) for shape in shapes]
    labels = draw.integers(0, 10, count)
    moved = [np.roll(soft[label], draw.integers(-1, 2, 2), (0, 1)) * draw.uniform(0.8, 1.4) for label in labels]
    images = np.stack(moved) + draw.normal(0, 0.1, (count, 28, 28))
    return (images.clip(0, 1) * 255).astype(np.uint8), labels


def prepare(place: Path) -> None:
    (place / "data").mkdir()
    kept = {}
    for part, count, seed in (("train", 1200, 0), ("test", 300, 1)):
        kept[f"x_{part}"], kept[f"y_{part}"] = centred(count, np.random.default_rng(seed))
    np.savez_compressed(place / "data" / "mnist.npz", **kept)


RECIPE = Recipe(
    repository="dawnranger/IDEC-pytorch",
    commit="1b0cc67d5b855dad806fa874f94d4c9e07c3127c",
    kind="deep clustering, pretraining then fine-tuning",
    needs=("scikit-learn", "numpy"),
    command=("idec.py", "--batch_size", "64", "--tol", "0", "--gamma", "5"),
    paths=("idec.py", "utils.py"),
    files=("idec.py", "utils.py"),
    seconds=13,
    prepare=prepare,
    shorten=(
        *(("idec.py", f"n_{layer}={wide},", f"n_{layer}={narrow},") for layer, (wide, narrow) in WIDTHS.items()),
        ("idec.py", r"range\(200\)", "range(16)"),
        ("idec.py", r"range\(100\)", "range(10)"),
        ("utils.py", r"from sklearn\.utils\.linear_assignment_ import linear_assignment", "from scipy.optimize import "
                                                                                          "linear_sum_assignment"),
        ("utils.py", r"ind = linear_assignment\(w\.max\(\) - w\)", "ind = np.transpose(linear_sum_assignment(w.max() - "
                                                                   "w))"),
    ),
    result=Result(r", nmi ([\d.]+)", "higher"),
)  # fmt: skip
