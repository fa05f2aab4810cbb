"""minGPT's character-level language model, with the Trainer of that repository."""

from pathlib import Path

from data import text
from recipe import Recipe, Result


def prepare(place: Path) -> None:
    path = place / "input.txt"
    text(path, lines=4000)
    path.write_text("O God, O God!\n" + path.read_text("utf-8"), "utf-8")  # the program samples with this prompt


RECIPE = Recipe(
    repository="karpathy/minGPT",
    commit="37baab71b9abea1b76ab957409a1cc2fbfba8a26",
    kind="language model, own trainer",
    command=(
        "projects/chargpt/chargpt.py", "--model.model_type=gpt-nano", "--data.block_size=32", "--trainer.batch_size=16",
        "--trainer.max_iters=400", "--trainer.num_workers=0", "--trainer.device=cpu",
    ),
    files=("projects/chargpt/chargpt.py", "mingpt/trainer.py", "mingpt/model.py", "mingpt/utils.py"),
    seconds=12,
    needs=("numpy",),
    environment={"PYTHONPATH": "."},
    prepare=prepare,
    result=Result(r"train loss (\S+)", "lower"),
)  # fmt: skip
