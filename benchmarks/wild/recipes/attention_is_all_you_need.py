"""The Transformer of "Attention is all you need" for translation, with warm-up, label smoothing and tied weights, and
its own loop."""

import pickle
import random
from argparse import Namespace
from collections import UserList
from pathlib import Path

from data import WORDS
from recipe import Recipe, Result

TORCHTEXT = '''"""Stands for the parts of torchtext, which is no longer made, that the program uses: batches of padded, numbered words."""
import random
from types import SimpleNamespace

import torch


class Field:
    pass


class Dataset:
    def __init__(self, examples, fields):
        self.examples, self.fields = examples, fields


class BucketIterator:
    def __init__(self, dataset, batch_size, device=None, train=False):
        self.dataset, self.batch_size, self.device, self.train = dataset, batch_size, device, train

    def __len__(self):
        return -(-len(self.dataset.examples) // self.batch_size)

    def __iter__(self):
        examples = list(self.dataset.examples)
        if self.train:
            random.shuffle(examples)
        for start in range(0, len(examples), self.batch_size):
            some = examples[start : start + self.batch_size]
            yield SimpleNamespace(src=self.padded([one.src for one in some], "src"), trg=self.padded([one.trg for one in some], "trg"))

    def padded(self, sentences, side):
        stoi = self.dataset.fields[side].vocab.stoi
        rows = [[stoi["<s>"], *(stoi.get(word, stoi["<unk>"]) for word in words), stoi["</s>"]] for words in sentences]
        longest = max(map(len, rows))
        rows = [row + [stoi["<blank>"]] * (longest - len(row)) for row in rows]
        return torch.tensor(rows, device=self.device).t()
'''  # noqa: E501


def pair(draw: random.Random) -> Namespace:
    """A sentence, and its words spelled backwards with the verb at the end."""
    who, does, what, how = (draw.choice(WORDS[kind]).split() for kind in ("who", "does", "what", "how"))
    how = how if draw.random() < 0.5 else []
    return Namespace(src=[*who, *does, *what, *how], trg=[word[::-1] for word in (*how, *who, *what, *does)])


def prepare(place: Path) -> None:
    folder = place / "torchtext"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "data.py").write_text(TORCHTEXT, "utf-8")
    (folder / "datasets.py").write_text("class TranslationDataset:\n    pass\n")
    draw = random.Random(0)
    train, valid = ([pair(draw) for _ in range(count)] for count in (1600, 200))
    vocabulary = UserList(
        ["<unk>", "<blank>", "<s>", "</s>", *sorted({word for one in train for word in one.src + one.trg})]
    )
    vocabulary.stoi = {word: index for index, word in enumerate(vocabulary)}
    field = Namespace(vocab=vocabulary)
    kept = {"settings": Namespace(max_len=30), "vocab": {"src": field, "trg": field}, "train": train, "valid": valid}
    (place / "m30k_deen_shr.pkl").write_bytes(pickle.dumps(kept))


RECIPE = Recipe(
    repository="jadore801120/attention-is-all-you-need-pytorch",
    commit="132907dd272e2cc92e3c10e6c4e783a87ff8893d",
    kind="translation with a Transformer, own loop",
    needs=("dill", "numpy", "tqdm"),
    command=(
        "train.py", "-data_pkl", "m30k_deen_shr.pkl", "-embs_share_weight", "-proj_share_weight", "-label_smoothing",
        "-output_dir",
        "output", "-no_cuda", "-epoch", "7", "-b", "32", "-d_model", "48", "-d_inner_hid", "96", "-d_k", "12", "-d_v",
        "12",
        "-n_head", "4", "-n_layers", "2", "-warmup", "80", "-lr_mul", "0.3",
    ),
    files=("train.py", "transformer/Models.py", "transformer/Layers.py", "transformer/SubLayers.py",
           "transformer/Optim.py"),
    seconds=14,
    prepare=prepare,
    result=Result(r"\(Validation\)\s+ppl:\s+([\d.]+)", "lower"),
)  # fmt: skip
