"""Examples for `--help`, one block a command: what people look for there first."""

from __future__ import annotations

import typer

UNWRAPPED = "\b\n"  # what typer and click leave as it is laid out
EXAMPLES: dict[str, tuple[str, ...]] = {
    "activations": ("traindx activations train.py", "traindx activations --at-step 100 --plot layers.png train.py"),
    "ask": ("traindx ask", "traindx ask runs/exp1", "traindx ask --answers answers.json"),
    "cases": (
        "traindx cases                             what was diagnosed here",
        "traindx cases show 12",
        "traindx cases confirm 12 --help           say what it really was",
        "traindx cases similar runs/exp1",
    ),
    "checkpoint": ("traindx checkpoint model.safetensors", "traindx checkpoint checkpoint-500 checkpoint-1000"),
    "compare": (
        "traindx compare before.csv after.csv      did the change help?",
        "traindx compare runs/ -o sweep.html       what explains the differences?",
    ),
    "completion": (
        "traindx completion bash > ~/.local/share/bash-completion/completions/traindx",
        "traindx completion zsh  > ~/.zfunc/_traindx",
        "traindx completion fish > ~/.config/fish/completions/traindx.fish",
    ),
    "curvature": ("traindx curvature train.py",),
    "diagnose": (
        "traindx diagnose runs/exp1                a run directory, recognised by its content",
        "traindx diagnose train.log --classes 10   so that chance level is known",
        "python train.py | traindx diagnose -      from a pipe",
        "traindx diagnose runs/ -o report.html     a page to send around",
        "traindx diagnose runs/exp1 --follow       while it is still training",
    ),
    "doctor": ("traindx doctor", "traindx doctor --format json"),
    "explain": ("traindx explain lr-too-high", "traindx explain need more epochs"),
    "fix": ("traindx fix train.py", "traindx fix --budget 300 train.py --epochs 2", "traindx fix --write train.py", "traindx fix --undo"),
    "gradients": ("traindx gradients train.py", "traindx gradients --plot flow.png train.py"),
    "list": ("traindx list causes", "traindx list --format json"),
    "lr-range": ("traindx lr-range train.py", "traindx lr-range --plot rates.png train.py"),
    "mcp": ("traindx mcp --root ~/runs", "claude mcp add traindx -- traindx mcp --root ~/runs"),
    "plot": ("traindx plot runs/exp1 -o curves.png",),
    "probe": (
        "traindx probe train.py",
        "traindx probe --add-to train.traindx train.py       sharpen a recording",
        "traindx probe --model models:build --data batch.pt",
    ),
    "run": (
        "traindx run train.py --epochs 3",
        "traindx run -m package.train",
        "traindx run -- torchrun --nproc-per-node 2 train.py",
        "traindx run --gate --steps 200 --format github train.py        in CI",
        "traindx run --alert https://ntfy.sh/my-runs train.py",
    ),
    "sanity": ("traindx sanity train.py",),
    "serve": ("traindx serve runs/", "traindx serve runs/ --port 8080"),
    "speed": ("traindx speed train.py",),
    "trial": ("traindx trial --set lr=x0.1 train.py", "traindx trial --list"),
    "watch": ("traindx watch train.traindx", "traindx watch runs/"),
}  # fmt: skip


def add_examples(app: typer.Typer) -> None:
    """Examples at the end of each command's help, where the command has not said anything there itself."""
    for command in app.registered_commands:
        if command.name in EXAMPLES and command.epilog is None:
            command.epilog = _epilog(command.name)
    for group in app.registered_groups:
        if group.name in EXAMPLES:
            group.epilog = _epilog(group.name)


def _epilog(name: str) -> str:
    return f"{UNWRAPPED}Examples:\n" + "\n".join(f"  {line}" for line in EXAMPLES[name])
