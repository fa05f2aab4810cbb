"""tiny-diffusion: a DDPM of an MLP on two-dimensional points."""

from pathlib import Path

from recipe import Recipe, Result


def prepare(place: Path) -> None:
    for path in [*(place / "static").glob("*.png"), *(place / "static").glob("*.mp4"), place / "vis.ipynb"]:
        path.unlink()


RECIPE = Recipe(
    repository="tanelp/tiny-diffusion",
    commit="726b6bbbf2c9e3d23dff9eaea2fda10d0af6a78c",
    kind="diffusion model, own loop",
    needs=("numpy", "pandas", "scikit-learn", "matplotlib", "tqdm"),
    command=(
        "ddpm.py",
        "--dataset",
        "circle",
        "--num_epochs",
        "16",
        "--train_batch_size",
        "256",
        "--save_images_step",
        "8",
    ),
    files=("ddpm.py", "datasets.py", "positional_embeddings.py"),
    seconds=9,
    prepare=prepare,
    result=Result(r"loss=([\d.]+)", "lower"),
)
