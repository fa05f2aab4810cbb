"""Keras models trained by a plain torch loop, first by themselves and then inside a torch module: two trainings in one
script."""

import shutil
from pathlib import Path

import numpy as np
from data import digits
from recipe import Recipe, Result

MODULE = """import numpy as np


def load_data():
    with np.load("mnist.npz") as kept:
        return (kept["x_train"], kept["y_train"]), (kept["x_test"], kept["y_test"])
"""


def prepare(place: Path) -> None:
    for path in place.iterdir():
        if path.name != "examples":
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    (images, labels), (others, answers) = digits(4000, seed=0), digits(200, seed=1)
    kept = {"x_train": images, "y_train": labels, "x_test": others, "y_test": answers}
    np.savez_compressed(place / "examples" / "mnist.npz", **kept)
    (place / "examples" / "local_mnist.py").write_text(MODULE, "utf-8")


RECIPE = Recipe(
    repository="keras-team/keras",
    commit="3422977a5e38fb2f7709aaa9a08e47f0c43d0f60",
    kind="image classification, Keras model in a torch loop, twice",
    needs=("keras",),
    folder="examples",
    command=("demo_custom_torch_workflow.py",),
    files=("examples/demo_custom_torch_workflow.py",),
    shorten=(
        (
            "examples/demo_custom_torch_workflow.py",
            r"keras\.datasets\.mnist\.load_data",
            '__import__("local_mnist").load_data',
        ),
        ("examples/demo_custom_torch_workflow.py", r"batch_size = 64", "batch_size = 32"),
    ),
    environment={"KERAS_BACKEND": "torch"},
    seconds=12,
    prepare=prepare,
    result=Result(r"Loss: ([\d.e-]+)", "lower"),
)
