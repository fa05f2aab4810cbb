"""weiaicunzai's CIFAR-100 training with a thin MobileNet: SGD, a warm-up epoch, milestones and TensorBoard."""

from pathlib import Path

from data import datasets_module
from recipe import Recipe, Result


def prepare(place: Path) -> None:
    datasets_module(place, train=896, test=300)


RECIPE = Recipe(
    repository="weiaicunzai/pytorch-cifar100",
    commit="11d8418f415b261e4ae3cb1ffe20d06ec95b98e4",
    kind="image classification, own loop with warm-up",
    needs=("torchvision", "tensorboard"),
    command=("train.py", "-net", "mobilenet", "-b", "32", "-lr", "0.025"),
    files=("train.py", "models/mobilenet.py", "utils.py", "conf/global_settings.py"),
    seconds=14,
    prepare=prepare,
    shorten=(
        (
            "utils.py",
            r"\nimport torchvision\n",
            "\nimport torchvision, wild_datasets; torchvision.datasets = wild_datasets\n",
        ),
        ("train.py", r"(get_training_dataloader\([^)]*)num_workers=4", r"\1num_workers=0"),
        ("train.py", r"(get_test_dataloader\([^)]*)num_workers=4", r"\1num_workers=0"),
        ("conf/global_settings.py", r"\nEPOCH = 200", "\nEPOCH = 5"),
        ("conf/global_settings.py", r"\nMILESTONES = .*", "\nMILESTONES = [3, 4]"),
        ("models/mobilenet.py", r"def mobilenet\(alpha=1, class_num=100\)", "def mobilenet(alpha=0.25, class_num=10)"),
    ),
    result=Result(r"Test set: Epoch: \d+, Average loss: [\d.]+, Accuracy: ([\d.]+)", "higher"),
)
