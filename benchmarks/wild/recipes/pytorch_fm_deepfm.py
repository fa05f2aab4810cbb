"""The example of pytorch-fm: DeepFM predicts from MovieLens-like ratings whether a user likes a film."""

import shutil
from pathlib import Path

import numpy as np
from recipe import Recipe, Result

USERS, FILMS, RATINGS, TASTES = 200, 150, 9000, 3


def prepare(place: Path) -> None:
    shutil.rmtree(place / "docs")
    (place / "chkpt").mkdir()
    draw = np.random.default_rng(0)
    user, film = draw.integers(0, USERS, RATINGS), draw.integers(0, FILMS, RATINGS)
    kindness, fame = draw.normal(0, 0.7, USERS), draw.normal(0, 1.0, FILMS)
    wanted, given = draw.normal(0, 0.7, (USERS, TASTES)), draw.normal(0, 0.7, (FILMS, TASTES))
    liking = kindness[user] + fame[film] + (wanted[user] * given[film]).sum(1) + draw.normal(0, 0.5, RATINGS)
    stars = np.clip(np.round(3.4 + liking), 1, 5).astype(int)
    rows = zip(user + 1, film + 1, stars, strict=True)
    (place / "ratings.dat").write_text("".join(f"{one}::{other}::{star}::0\n" for one, other, star in rows))


RECIPE = Recipe(
    repository="rixwew/pytorch-fm",
    commit="f74ad19771eda104e99874d19dc892e988ec53fa",
    kind="recommender (DeepFM), own loop",
    needs=("numpy", "pandas", "scikit-learn", "tqdm"),
    command=(
        "examples/main.py", "--dataset_name=movielens1M", "--dataset_path=ratings.dat", "--model_name=dfm", "--epoch=8",
        "--batch_size=128", "--device=cpu",
    ),
    files=("examples/main.py", "torchfm/model/dfm.py", "torchfm/layer.py", "torchfm/dataset/movielens.py"),
    seconds=8,
    prepare=prepare,
    shorten=(
        ("torchfm/dataset/movielens.py", r"np\.int\)", "np.int64)"),
        ("examples/main.py", r"(train_dataset, batch_size=batch_size, num_workers)=8", r"\1=0"),
        ("examples/main.py", r"(valid_dataset, batch_size=batch_size, num_workers)=8", r"\1=0"),
        ("examples/main.py", r"(test_dataset, batch_size=batch_size, num_workers)=8", r"\1=0"),
    ),
    result=Result(r"test auc: (\S+)", "higher"),
    environment={"PYTHONPATH": "."},
)  # fmt: skip
