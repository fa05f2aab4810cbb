"""Neural collaborative filtering (NeuMF) on implicit feedback, scored by how often the held-out item is among ten of a
hundred."""

from pathlib import Path

import numpy as np
from recipe import Recipe, Result

USERS, ITEMS, GROUPS, LIKES, NEGATIVES = 150, 200, 5, 20, 99


def prepare(place: Path) -> None:
    draw = np.random.default_rng(0)
    folder = place / "Data"
    folder.mkdir()
    taste, genre = draw.integers(0, GROUPS, USERS), np.arange(ITEMS) % GROUPS
    train, test, negative = [], [], []
    for user in range(USERS):
        weight = np.where(genre == taste[user], 12.0, 1.0) * np.linspace(1.5, 0.5, ITEMS)
        liked = draw.choice(ITEMS, LIKES + 1, replace=False, p=weight / weight.sum())
        train += [f"{user}\t{item}\t5\t0" for item in liked[:-1]]
        test.append(f"{user}\t{liked[-1]}\t5\t0")
        others = draw.choice(np.setdiff1d(np.arange(ITEMS), liked), NEGATIVES, replace=False)
        negative.append("\t".join([f"({user},{liked[-1]})", *map(str, others)]))
    train.append(f"0\t{ITEMS - 1}\t5\t0")  # the number of items is taken from here
    for name, lines in (("train.rating", train), ("test.rating", test), ("test.negative", negative)):
        (folder / f"ml-1m.{name}").write_text("\n".join(lines) + "\n")


RECIPE = Recipe(
    repository="guoyang9/NCF",
    commit="89ff06ffcd2bca6bb773b54925265c208a28d318",
    kind="recommender (NCF), own loop",
    needs=("numpy", "pandas", "scipy", "tensorboardX"),
    command=("main.py", "--batch_size=256", "--lr=0.001", "--factor_num=16", "--epochs=10"),
    files=("main.py", "model.py", "data_utils.py", "evaluate.py", "config.py"),
    seconds=8,
    prepare=prepare,
    shorten=(
        ("config.py", r"(main_path = ).*", r"\1'./Data/'"),
        ("main.py", r"num_workers=4", "num_workers=0"),
        ("main.py", r"model\.cuda\(\)", "model.cpu()"),
        ("main.py", r"user\.cuda\(\)", "user.cpu()"),
        ("main.py", r"item\.cuda\(\)", "item.cpu()"),
        ("main.py", r"float\(\)\.cuda\(\)", "float()"),
        ("evaluate.py", r"user\.cuda\(\)", "user.cpu()"),
        ("evaluate.py", r"item\.cuda\(\)", "item.cpu()"),
    ),
    result=Result(r"HR = (\S+),", "higher"),
)
