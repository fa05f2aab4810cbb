"""PINNs-Torch: a physics-informed network solves the Burgers equation from its initial and boundary values, with
Lightning and Hydra."""

import shutil
from pathlib import Path

import numpy as np
from recipe import Recipe, Result

VISCOSITY = 0.01 / np.pi


def prepare(place: Path) -> None:
    """The exact solution, by the Cole-Hopf transformation."""
    import scipy.io

    shutil.rmtree(place / "tutorials")
    x, t = np.linspace(-1, 1, 256), np.linspace(0, 0.99, 100)
    point, weight = np.polynomial.hermite.hermgauss(80)
    solution = np.empty((len(x), len(t)))
    for index, time in enumerate(t):
        shifted = x[:, None] - np.sqrt(4 * VISCOSITY * time) * point
        level = -np.cos(np.pi * shifted) / (2 * np.pi * VISCOSITY)
        share = weight * np.exp(level - level.max(axis=1, keepdims=True))
        solution[:, index] = -(share * np.sin(np.pi * shifted)).sum(1) / share.sum(1)
    (place / "data").mkdir()
    scipy.io.savemat(place / "data" / "burgers_shock.mat", {"usol": solution, "x": x[:, None], "t": t[:, None]})


RECIPE = Recipe(
    repository="rezaakb/pinns-torch",
    commit="372f10b74dbb571c40a58782039a053f83850218",
    opened="a try of the recipe showed its page",
    kind="physics-informed network, Lightning",
    needs=("lightning", "hydra-core", "hydra-colorlog", "rootutils", "pyDOE", "scipy", "matplotlib", "rich",
           "requests"),
    command=(
        "examples/burgers_continuous_forward/train.py", "N_f=500", "trainer.max_epochs=400",
        "trainer.check_val_every_n_epoch=100",
        "net.layers=[2,20,20,20,20,1]", "~plotting", "~pred_dataset",
    ),
    files=("examples/burgers_continuous_forward/train.py", "pinnstorch/models/pinn_module.py", "pinnstorch/train.py"),
    seconds=13,
    prepare=prepare,
    shorten=(("pinnstorch/data/mesh/mesh.py", r"from pyDOE import", "from pydoe import"),),
    result=Result(r"val/error_u\D+([\d.]+)", "lower"),
    environment={"PYTHONPATH": "."},
)  # fmt: skip
