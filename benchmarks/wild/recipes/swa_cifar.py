"""Stochastic weight averaging on CIFAR: SGD with a long schedule, then a running mean of the weights with its own batch
statistics."""

from pathlib import Path

from data import datasets_module
from recipe import Recipe, Result


def prepare(place: Path) -> None:
    datasets_module(place, train=512, test=120)
    for name in ("train.py", "utils.py"):  # Written for a GPU and Python 3.6.
        text = (place / name).read_text("utf-8")
        for old, new in ((".cuda(async=True)", ""), ("loss.data[0]", "loss.item()"), ("model.cuda()", "model.cpu()")):
            text = text.replace(old, new)
        (place / name).write_text(text, "utf-8")


RECIPE = Recipe(
    repository="timgaripov/swa",
    commit="411b2fcad59bec60c6c9eb1eb19ab906540e5ea2",
    kind="image classification, weight averaging (SWA)",
    needs=("torchvision", "tabulate"),
    command=(
        "train.py", "--dir", "out", "--data_path", "data", "--model", "PreResNet110", "--num_workers", "0",
        "--batch_size", "32",
        "--epochs", "7", "--lr_init", "0.025", "--wd", "3e-4", "--swa", "--swa_start", "5", "--swa_lr", "0.0125",
        "--eval_freq", "1",
    ),
    files=("train.py", "utils.py", "models/preresnet.py"),
    shorten=(
        ("train.py", r"getattr\(torchvision\.datasets, args\.dataset\)", 'getattr(__import__("wild_datasets"), '
                                                                         'args.dataset)'),
        ("train.py", r"train_set\.train_labels", "train_set.targets"),
        ("models/preresnet.py", r"\{'depth': 110\}", "{'depth': 8}"),
    ),
    seconds=14,
    prepare=prepare,
    result=Result(r"(?m)^\s+\d+(?:\s+[\d.]+){5}\s+([\d.]+)\s+[\d.]+\s+[\d.]+\s*$", "lower"),
)  # fmt: skip
