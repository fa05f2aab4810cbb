"""kuangliu's CIFAR-10 training with a thin VGG: momentum SGD, a cosine schedule, scores in a progress bar."""

from pathlib import Path

from data import datasets_module
from recipe import Recipe, Result


def prepare(place: Path) -> None:
    datasets_module(place, train=1600, test=400)


RECIPE = Recipe(
    repository="kuangliu/pytorch-cifar",
    commit="49b7aa97b0c12fe0d4054e670403a16b6b834ddd",
    kind="image classification, own loop",
    needs=("torchvision",),
    command=("main.py", "--lr", "0.025"),
    files=("main.py", "models/vgg.py", "utils.py"),
    seconds=11,
    prepare=prepare,
    shorten=(
        (
            "main.py",
            r"\nimport torchvision\n",
            "\nimport torchvision, wild_datasets; torchvision.datasets = wild_datasets\n",
        ),
        ("main.py", r"\nnet = SimpleDLA\(\)", "\nnet = VGG('VGG11')"),
        ("main.py", r"batch_size=128, shuffle=True, num_workers=2", "batch_size=32, shuffle=True, num_workers=0"),
        ("main.py", r"batch_size=100, shuffle=False, num_workers=2", "batch_size=100, shuffle=False, num_workers=0"),
        ("main.py", r"T_max=200", "T_max=4"),
        ("main.py", r"start_epoch\+200", "start_epoch+4"),
        ("models/vgg.py", r"'VGG11': \[.*\]", "'VGG11': [16, 'M', 32, 'M', 64, 'M', 64, 'M', 512, 'M']"),
        ("utils.py", r"os\.popen\('stty size', 'r'\)\.read\(\)\.split\(\)", "24, 80"),
    ),
    result=Result(r"Acc: ([\d.]+)% \(\d+/400\)", "higher"),
)
