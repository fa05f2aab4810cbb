"""The convolutional network of yunjey's PyTorch tutorial, on MNIST with Adam."""

from pathlib import Path

from data import mnist
from recipe import Recipe, Result

PROGRAM = "tutorials/02-intermediate/convolutional_neural_network/main.py"


def prepare(place: Path) -> None:
    mnist(place / "tutorials" / "data", train=4000, test=1000)


RECIPE = Recipe(
    repository="yunjey/pytorch-tutorial",
    commit="0500d3df5a2a8080ccfccbc00aca0eacc21818db",
    paths=("tutorials/02-intermediate/convolutional_neural_network",),
    kind="image classification, own loop",
    needs=("torchvision",),
    folder="tutorials/02-intermediate/convolutional_neural_network",
    command=("main.py",),
    files=(PROGRAM,),
    seconds=11,
    prepare=prepare,
    shorten=(
        (PROGRAM, r"batch_size = 100", "batch_size = 40"),
        (PROGRAM, r"num_epochs = 5", "num_epochs = 3"),
    ),
    result=Result(r"Test Accuracy of the model on the 10000 test images: (\S+) %", "higher"),
)
