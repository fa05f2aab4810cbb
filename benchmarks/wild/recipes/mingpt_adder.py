"""minGPT's project that teaches a small GPT to add two-digit numbers, with the Trainer of that repository."""

from recipe import Recipe, Result

RECIPE = Recipe(
    repository="karpathy/minGPT",
    commit="37baab71b9abea1b76ab957409a1cc2fbfba8a26",
    kind="GPT on arithmetic, own trainer",
    command=(
        "projects/adder/adder.py", "--trainer.max_iters=501", "--trainer.num_workers=0", "--trainer.device=cpu",
        "--trainer.learning_rate=3e-3", "--model.embd_pdrop=0.0", "--model.resid_pdrop=0.0", "--model.attn_pdrop=0.0",
    ),
    files=("projects/adder/adder.py", "mingpt/trainer.py", "mingpt/model.py", "mingpt/utils.py"),
    seconds=16,
    needs=("numpy",),
    environment={"PYTHONPATH": "."},
    result=Result(r"test final score: .* = ([\d.]+)% correct", "higher"),
)  # fmt: skip
