"""What `--help` shows: the commands by what one has at hand, and examples, which people look for first."""

from __future__ import annotations

from typing import Any

import typer
import typer.core

UNWRAPPED = "\b\n"  # what typer and click leave as it is laid out
GROUPS: dict[str, dict[str, str]] = {
    "From a log": {
        "diagnose": "Say what is wrong with a run and what to do",
        "ask": "Find the cause by questions, the most telling first",
        "explain": "The page of a symptom, cause or fix; --why: in this run",
        "list": "Every symptom, cause and fix",
        "plot": "The curves with their symptoms, as PNG",
        "checkpoint": "Look into saved weights; nothing is unpickled",
    },
    "From the inside (PyTorch)": {
        "run": "Run a script unchanged, record it, diagnose it",
        "probe": "Measure the model on its first batches, all of these:",
        "sanity": "Can it learn one batch? does it use its inputs?",
        "gradients": "Gradients layer by layer: do they fade or grow?",
        "activations": "Outputs layer by layer: dead and saturated units, rank",
        "lr-range": "The learning rates that work, and where yours is",
        "curvature": "Sharpness, largest stable rate, gradient noise",
        "speed": "Where the time of a step goes",
    },
    "Prove it": {
        "fix": "Try fixes on copies of a script; the best one as a diff",
        "trial": "Try one change, such as --set lr=x0.1, or a patch",
        "check": "Fit for its first long run? And does a repair hold?",
    },
    "Many runs": {
        "compare": "Which is better, what explains it, did it help?",
        "serve": "All runs in the browser, live",
        "watch": "All runs in the terminal, live",
        "cases": "Past diagnoses here: confirm them, find similar ones",
    },
    "Around it": {
        "mcp": "Serve all this to agents (Model Context Protocol)",
        "doctor": "What is usable here, and known issues of its versions",
        "completion": "Complete commands in bash, zsh or fish",
    },
}
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
    "doctor": (
        "traindx doctor                            what works here, and known issues of what is installed",
        "traindx doctor requirements.txt           known issues of the versions pinned there",
        "traindx doctor --python .venv/bin/python --json",
    ),
    "explain": ("traindx explain lr-too-high", "traindx explain need more epochs"),
    "fix": ("traindx fix train.py", "traindx fix --budget 300 train.py --epochs 2", "traindx fix --write train.py",
            "traindx fix --undo"),
    "gradients": ("traindx gradients train.py", "traindx gradients --plot flow.png train.py"),
    "list": ("traindx list causes", "traindx list --format json"),
    "lr-range": ("traindx lr-range train.py", "traindx lr-range --plot rates.png train.py"),
    "mcp": ("traindx mcp --root ~/runs", "claude mcp add traindx -- traindx mcp --root ~/runs"),
    "plot": ("traindx plot runs/exp1 -o curves.png",),
    "probe": (
        "traindx probe train.py",
        "traindx probe batch train.py                        what a language model's loss sees",
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
    "trial": ("traindx trial --set lr=x0.1 train.py", "traindx trial --patch mine.diff train.py",
              "traindx trial --list"),
    "check": (
        "traindx check train.py                    before the first long run",
        "traindx fix --brief fix.json train.py",
        "traindx check --expects fix.json train.py",
    ),
    "watch": ("traindx watch train.traindx", "traindx watch runs/"),
}  # fmt: skip


class Plain(typer.core.TyperGroup):
    """Commands whose arguments are called by their names: `RUN…`, without the type that typer writes beside it."""

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        command = super().get_command(ctx, cmd_name)
        for parameter in getattr(command, "params", ()):
            if parameter.param_type_name == "argument" and parameter.metavar is not None:
                usage = _usage(parameter.metavar, many=parameter.nargs != 1, required=parameter.required)
                vars(parameter).update(
                    display_type_rich=lambda ctx: None, get_usage_pieces=lambda ctx, usage=usage: [usage]
                )
        return command


def _usage(name: str, *, many: bool, required: bool) -> str:
    text = f"{name}…" if many and "…" not in name else name
    return text if required else f"[{text}]"


class Manual(Plain):
    """The commands under headings, each on a line of its own."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        for title, commands in GROUPS.items():
            with formatter.section(title):
                formatter.write_dl(list(commands.items()))


class Uncut(Plain):
    """The commands of a group, each with its whole sentence, over as many lines as it takes."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        commands = {name: self.get_command(ctx, name) for name in self.list_commands(ctx)}
        with formatter.section("Commands"):
            formatter.write_dl([(name, (command.help or "").strip()) for name, command in commands.items() if command])


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
