"""Small data made on the spot, in the form that other people's programs read. Learnable, seeded, without a download."""

from __future__ import annotations

import json
import math
import random
import struct
from pathlib import Path

import numpy as np

GLYPHS = (
    "01110 10001 10011 10101 11001 10001 01110", "00100 01100 00100 00100 00100 00100 01110", "01110 10001 00001 00010 "
                                                                                              "00100 01000 11111",
    "11110 00001 00001 01110 00001 00001 11110", "00010 00110 01010 10010 11111 00010 00010", "11111 10000 11110 00001 "
                                                                                              "00001 10001 01110",
    "00110 01000 10000 11110 10001 10001 01110", "11111 00001 00010 00100 01000 01000 01000", "01110 10001 10001 01110 "
                                                                                              "10001 10001 01110",
    "01110 10001 10001 01111 00001 00010 01100",
)  # fmt: skip
WORDS = {
    "who": "the king|the queen|my lord|a servant|the old fool|his daughter|the captain|a stranger".split("|"),
    "does": "speaks of|walks with|remembers|cannot forget|fears|hides from|laughs at|follows".split("|"),
    "what": "the sea|a broken sword|the long night|his own name|the silent house|winter|the crown|the road to the north".split(  # noqa: E501
        "|"
    ),
    "how": "in silence|again and again|with a heavy heart|before the morning|like a child|without a word".split("|"),
}


def digits(count: int, size: int = 28, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Grey images of the ten digits, shifted, scaled and noisy: uint8 of (count, size, size), and their labels."""
    draw = np.random.default_rng(seed)
    shapes = [np.array([[int(dot) for dot in row] for row in glyph.split()], dtype=float) for glyph in GLYPHS]
    labels = draw.integers(0, 10, count)
    images = np.zeros((count, size, size))
    for index, label in enumerate(labels):
        zoom = max(1, size // 10) + int(draw.integers(0, 2)) * (size >= 20)
        drawn = np.kron(shapes[label], np.ones((zoom, zoom)))[:size, :size]
        top, left = (int(draw.integers(0, max(1, size - side + 1))) for side in drawn.shape)
        images[index, top : top + drawn.shape[0], left : left + drawn.shape[1]] = drawn * draw.uniform(0.6, 1.0)
    images += draw.normal(0, 0.08, images.shape)
    return (images.clip(0, 1) * 255).astype(np.uint8), labels.astype(np.int64)


def pictures(count: int, size: int = 32, classes: int = 10, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Colour images whose class is a stripe direction and a tint, in noise: uint8 of (count, size, size, 3), and their
    labels."""
    draw = np.random.default_rng(seed)
    labels = draw.integers(0, classes, count)
    rows, columns = np.mgrid[0:size, 0:size] / size
    images = np.empty((count, size, size, 3))
    for index, label in enumerate(labels):
        angle = math.pi * label / classes
        wave = np.sin(2 * math.pi * (3 * (rows * math.sin(angle) + columns * math.cos(angle)) + draw.uniform()))
        tint = 0.5 + 0.3 * np.cos(2 * math.pi * (label / classes + np.arange(3) / 3))
        images[index] = 0.5 * tint + 0.25 * wave[..., None] + draw.normal(0.2, 0.12, (size, size, 3))
    return (images.clip(0, 1) * 255).astype(np.uint8), labels.astype(np.int64)


def mnist(folder: Path, train: int = 4000, test: int = 1000, name: str = "MNIST") -> None:
    """The files that torchvision's MNIST, FashionMNIST and KMNIST read, below `folder` (their `root`)."""
    raw = folder / name / "raw"
    raw.mkdir(parents=True, exist_ok=True)
    for part, count, seed in (("train", train, 0), ("t10k", test, 1)):
        images, labels = digits(count, seed=seed)
        header = struct.pack(">IIII", 0x803, count, 28, 28)
        (raw / f"{part}-images-idx3-ubyte").write_bytes(header + images.tobytes())
        (raw / f"{part}-labels-idx1-ubyte").write_bytes(
            struct.pack(">II", 0x801, count) + labels.astype(np.uint8).tobytes()
        )


def image_folders(folder: Path, parts: dict[str, int], classes: int = 4, size: int = 32) -> None:
    """PNG files as torchvision's ImageFolder reads them: part/class/0001.png. `parts` says how many images each has."""
    from PIL import Image

    for seed, (part, count) in enumerate(parts.items()):
        images, labels = pictures(count, size, classes, seed)
        for index, (image, label) in enumerate(zip(images, labels, strict=True)):
            path = folder / part / f"class{label}" / f"{index:05}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(image).save(path)


def sentences(count: int, seed: int = 0) -> list[str]:
    draw = random.Random(seed)
    lines = []
    for _ in range(count):
        parts = [draw.choice(WORDS[kind]) for kind in ("who", "does", "what")]
        parts += [draw.choice(WORDS["how"])] if draw.random() < 0.6 else []
        lines.append(" ".join(parts).capitalize() + ".")
    return lines


def text(path: Path, lines: int = 4000, seed: int = 0) -> None:
    """Sentences of a small grammar, one a line."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(sentences(lines, seed)) + "\n", "utf-8")


DATASETS = '''"""Stands for torchvision.datasets where the real data would be downloaded: the same arguments, small images made on the spot."""
import os

import numpy as np
from PIL import Image
from torch.utils.data import Dataset

_FILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "wild_datasets.npz")


class _Kept(Dataset):
    kind, classes = "", []

    def __init__(self, root=None, train=True, transform=None, target_transform=None, download=False, split=None):
        part = "train" if (train if split is None else split == "train") else "test"
        with np.load(_FILE) as kept:
            self.data, self.targets = kept[f"{self.kind}_{part}_images"], kept[f"{self.kind}_{part}_labels"].tolist()
        self.transform, self.target_transform, self.train = transform, target_transform, part == "train"

    def __len__(self):
        return len(self.data)

    def __getitem__(self, index):
        image, label = Image.fromarray(self.data[index]), int(self.targets[index])
        if self.transform is not None:
            image = self.transform(image)
        if self.target_transform is not None:
            label = self.target_transform(label)
        return image, label


class CIFAR10(_Kept):
    kind, classes = "pictures", [f"class{i}" for i in range(10)]


class CIFAR100(CIFAR10):
    pass


class SVHN(CIFAR10):
    pass


class STL10(CIFAR10):
    pass


class MNIST(_Kept):
    kind, classes = "digits", [str(i) for i in range(10)]


class FashionMNIST(MNIST):
    pass
'''  # noqa: E501


def datasets_module(folder: Path, train: int = 2000, test: int = 500, size: int = 32) -> None:
    """A module `wild_datasets` in `folder` with CIFAR10, CIFAR100, SVHN, STL10, MNIST and FashionMNIST as torchvision's
    are called."""
    kept = {}
    for part, count, seed in (("train", train, 0), ("test", test, 1)):
        kept[f"pictures_{part}_images"], kept[f"pictures_{part}_labels"] = pictures(count, size, seed=seed)
        kept[f"digits_{part}_images"], kept[f"digits_{part}_labels"] = digits(count, seed=seed)
    np.savez_compressed(folder / "wild_datasets.npz", **kept)
    (folder / "wild_datasets.py").write_text(DATASETS, "utf-8")


def causal_lm(folder: Path, lines: int = 2000, width: int = 64, layers: int = 2, chat: bool = False) -> None:
    """A tiny Llama with random weights and a tokenizer trained on `sentences`, as transformers' `from_pretrained` loads
    it."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE(unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    special = ["<unk>", "<s>", "</s>", "<pad>", "<|user|>", "<|assistant|>"]
    tokenizer.train_from_iterator(
        sentences(lines), trainers.BpeTrainer(vocab_size=512, special_tokens=special,
                                              initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
    )  # fmt: skip
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        unk_token="<unk>",
        bos_token="<s>",
        eos_token="</s>",
        pad_token="<pad>",
        model_max_length=256,
    )
    if chat:
        fast.chat_template = (
            "{% for message in messages %}{{ '<|' + message['role'] + '|>' + message['content'] + eos_token }}{% "
            "endfor %}"
            "{% if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}"
        )
    fast.save_pretrained(folder)
    config = LlamaConfig(
        vocab_size=len(fast), hidden_size=width, intermediate_size=2 * width, num_hidden_layers=layers,
        num_attention_heads=4,
        num_key_value_heads=4, max_position_embeddings=256, bos_token_id=1, eos_token_id=2, pad_token_id=3,
    )  # fmt: skip
    LlamaForCausalLM(config).save_pretrained(folder)


def json_lines(path: Path, rows: list[dict[str, object]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
