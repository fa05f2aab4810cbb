"""MAML on Omniglot: inner steps by hand on five characters, second derivatives, Adam on the start weights."""

from pathlib import Path

import numpy as np
from recipe import Recipe, Result


def prepare(place: Path) -> None:
    """Characters are random strokes on a grid; each has twenty drawings, shifted and noisy, dark on white as in
    Omniglot."""
    draw = np.random.default_rng(0)
    drawn = np.ones((140, 20, 28, 28, 1), dtype=np.float16)
    for character in drawn:
        grid = np.zeros((7, 7))
        for _ in range(4):
            at, along = draw.integers(0, 7), draw.integers(0, 2)
            start, end = sorted(draw.choice(8, 2, replace=False))
            grid[(slice(start, end), at) if along else (at, slice(start, end))] = 1
        shape = np.kron(grid, np.ones((3, 3)))
        for image in character:
            top, left = draw.integers(2, 6, 2)
            image[top : top + 21, left : left + 21, 0] -= shape * draw.uniform(0.7, 1.0)
            image += draw.normal(0, 0.03, image.shape)
    (place / "omniglot").mkdir()
    np.save(place / "omniglot" / "omniglot.npy", drawn.clip(0, 1))
    for path in (place / "res").iterdir():
        path.unlink()


RECIPE = Recipe(
    repository="dragen1860/MAML-Pytorch",
    commit="98a00d41724c133bd29619a2fb2cc46dd128a368",
    kind="meta-learning (MAML), own loop",
    needs=("numpy", "torchvision"),
    command=(
        "omniglot_train.py", "--epoch", "101", "--task_num", "3", "--k_qry", "5", "--update_step", "3",
        "--update_step_test", "5",
    ),
    files=("omniglot_train.py", "meta.py", "learner.py", "omniglotNShot.py"),
    shorten=(
        ("omniglot_train.py", r"torch\.device\('cuda'\)", "torch.device('cpu')"),
        ("omniglot_train.py", r"step % 500", "step % 50"),
        ("omniglot_train.py", r"1000//args", "24//args"),
        ("omniglotNShot.py", r"\[:1200\], self\.x\[1200:\]", "[:110], self.x[110:]"),
        ("omniglotNShot.py", r"np\.array\(y_spts\)\.astype\(np\.int\)", "np.array(y_spts).astype(int)"),
        ("omniglotNShot.py", r"np\.array\(y_qrys\)\.astype\(np\.int\)", "np.array(y_qrys).astype(int)"),
    ),
    seconds=16,
    prepare=prepare,
    result=Result(r"Test acc: \[[^\]]*?([\d.]+)\s*\]", "higher"),
)  # fmt: skip
