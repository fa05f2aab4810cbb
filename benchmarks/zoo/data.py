"""The zoo's data: real sets that ship inside packages, text of Python's own library, and a few synthetic ones.

Machines without scikit-learn or Debian's dataset-fashion-mnist read what `python benchmarks/zoo/data.py FILE` wrote on
one that has them, through the variable ZOO_DATA."""

from __future__ import annotations

import gzip
import os
import sys
import sysconfig
from functools import cache
from pathlib import Path

import numpy as np

FASHION = Path("/usr/share/datasets/fashion-mnist")
FASHION_COUNT = 3000
LIBRARY = ("argparse", "ast", "datetime", "doctest", "pickle", "subprocess", "tarfile", "typing")  # long plain modules
MARKS = tuple(ord(letter) - 31 for letter in "~^|$?@%&")
LETTERS = 96  # printable ASCII, and one code for everything else


def main() -> None:
    np.savez_compressed(sys.argv[1], **_from_packages())


@cache
def shelf() -> dict[str, np.ndarray]:
    stored = os.environ.get("ZOO_DATA")
    if stored:
        with np.load(stored) as archive:
            return {name: archive[name] for name in archive.files}
    return _from_packages()


def _from_packages() -> dict[str, np.ndarray]:
    from sklearn import datasets

    found: dict[str, np.ndarray] = {}
    for name in ("digits", "breast_cancer", "diabetes", "wine"):
        loaded = getattr(datasets, f"load_{name}")()
        found[f"{name}_x"] = np.asarray(loaded.data, dtype=np.float32)
        found[f"{name}_y"] = np.asarray(loaded.target)
    if FASHION.is_dir():
        found["fashion_x"] = _idx(FASHION / "train-images-idx3-ubyte.gz")[:FASHION_COUNT]
        found["fashion_y"] = _idx(FASHION / "train-labels-idx1-ubyte.gz")[:FASHION_COUNT].astype(np.int64)
    return found


def _idx(path: Path) -> np.ndarray:
    raw = gzip.decompress(path.read_bytes())
    dimensions = raw[3]
    shape = np.frombuffer(raw, ">u4", dimensions, 4).astype(int)
    return np.frombuffer(raw, np.uint8, offset=4 + 4 * dimensions).reshape(shape)


def standardised(values: np.ndarray) -> np.ndarray:
    return ((values - values.mean(0)) / (values.std(0) + 1e-6)).astype(np.float32)


def digits() -> tuple[np.ndarray, np.ndarray]:
    return shelf()["digits_x"] / 16 - 0.3, shelf()["digits_y"]


def fashion(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Every other pixel of the pictures; without Debian's package, textures that differ by direction and period."""
    if "fashion_x" in shelf():
        return shelf()["fashion_x"][:, ::2, ::2].astype(np.float32)[:, None] / 255 - 0.3, shelf()["fashion_y"]
    labels = rng.integers(0, 10, 2000)
    rows, columns = np.mgrid[0:14, 0:14]
    angle, period = (labels % 5) * np.pi / 5, 3 + 2 * (labels // 5)
    along = rows * np.cos(angle)[:, None, None] + columns * np.sin(angle)[:, None, None]
    waves = np.sin(2 * np.pi * along / period[:, None, None] + rng.uniform(0, 6.3, (2000, 1, 1)))
    return (waves + rng.normal(0, 0.5, waves.shape)).astype(np.float32)[:, None], labels


def cancer() -> tuple[np.ndarray, np.ndarray]:
    return standardised(shelf()["breast_cancer_x"]), shelf()["breast_cancer_y"]


def wine() -> tuple[np.ndarray, np.ndarray]:
    return standardised(shelf()["wine_x"]), shelf()["wine_y"]


def diabetes() -> tuple[np.ndarray, np.ndarray]:
    return standardised(shelf()["diabetes_x"]), standardised(shelf()["diabetes_y"].astype(float))


def friedman(rng: np.random.Generator, count: int = 1200) -> tuple[np.ndarray, np.ndarray]:
    x = rng.uniform(0, 1, (count, 10))
    y = 10 * np.sin(np.pi * x[:, 0] * x[:, 1]) + 20 * (x[:, 2] - 0.5) ** 2 + 10 * x[:, 3] + 5 * x[:, 4]
    return standardised(x), standardised(y + rng.normal(0, 1, count))


def rings(rng: np.random.Generator, count: int = 1000) -> tuple[np.ndarray, np.ndarray]:
    """Two classes that no straight line parts."""
    labels = rng.integers(0, 2, count)
    radius = np.where(labels == 1, 0.5, 1.4) + rng.normal(0, 0.12, count)
    angle = rng.uniform(0, 2 * np.pi, count)
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], 1).astype(np.float32), labels


@cache
def _text() -> tuple[np.ndarray, np.ndarray]:
    codes, sources = [], []
    library = Path(sysconfig.get_paths()["stdlib"])
    for index, name in enumerate(LIBRARY):
        raw = np.frombuffer((library / f"{name}.py").read_bytes()[:60_000], np.uint8).astype(np.int64)
        codes.append(np.where((raw >= 32) & (raw < 127), raw - 31, 0))
        sources.append(np.full(len(raw), index))
    return np.concatenate(codes), np.concatenate(sources)


def windows(rng: np.random.Generator, count: int, length: int) -> tuple[np.ndarray, np.ndarray]:
    """Pieces of library text as letter codes, and which module each is from."""
    codes, sources = _text()
    starts = rng.integers(0, len(codes) - length, count)
    return np.stack([codes[start : start + length] for start in starts]), sources[starts]


def marked(rng: np.random.Generator, count: int, length: int) -> tuple[np.ndarray, np.ndarray]:
    """Pieces of library text, each with two marks of its class strewn in."""
    codes, _ = windows(rng, count, length)
    labels = rng.integers(0, len(MARKS), count)
    codes[np.isin(codes, MARKS)] = 1
    for _ in range(2):
        codes[np.arange(count), rng.integers(0, length, count)] = np.asarray(MARKS)[labels]
    return codes, labels


def tastes(rng: np.random.Generator, users: int = 60, items: int = 40, count: int = 4000) -> np.ndarray:
    """Triples (user, an item they like, one they do not) from hidden tastes of four dimensions."""
    liking = rng.normal(size=(users, 4)) @ rng.normal(size=(4, items))
    user = rng.integers(0, users, count)
    pair = rng.integers(0, items, (count, 2))
    better = liking[user, pair[:, 0]] > liking[user, pair[:, 1]]
    first, second = np.where(better, pair[:, 0], pair[:, 1]), np.where(better, pair[:, 1], pair[:, 0])
    return np.stack([user, first, second], 1)


if __name__ == "__main__":
    main()
