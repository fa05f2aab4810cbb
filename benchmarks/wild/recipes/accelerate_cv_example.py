"""Accelerate's example that trains the last layer of a pretrained timm network on pictures whose class is in the file's
name."""

from pathlib import Path

import numpy as np
from data import pictures
from recipe import Recipe, Result
from recipes._hugging_face import keep

FILE = "examples/cv_example.py"
NETWORK = "test_resnet"


def blurred(count: int, classes: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Pictures in noise and under light of another colour each, so that not every one can be told."""
    images, labels = pictures(count, 32, classes, seed)
    draw = np.random.default_rng(seed)
    light, noise = draw.normal(0, 60, (count, 1, 1, 3)), draw.normal(0, 80, images.shape)
    return (images + light + noise).clip(0, 255).astype(np.uint8), labels


def pretrain(path: Path) -> None:
    """Weights in place of those that timm would download: trained for a moment on pictures of other classes."""
    import torch
    from timm import create_model

    torch.manual_seed(0)
    images, labels = blurred(960, 16, seed=7)
    model = create_model(NETWORK, num_classes=16)
    mean, std = (torch.tensor(model.default_cfg[name])[:, None, None] for name in ("mean", "std"))
    inputs = (torch.tensor(images).permute(0, 3, 1, 2) / 255 - mean) / std
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for index in torch.cat([torch.randperm(len(inputs)) for _ in range(4)]).split(64):
        torch.nn.functional.cross_entropy(model(inputs[index]), torch.tensor(labels)[index]).backward()
        optimizer.step()
        optimizer.zero_grad()
    torch.save(
        {name: value.half() if value.is_floating_point() else value for name, value in model.state_dict().items()}, path
    )


def prepare(place: Path) -> None:
    from PIL import Image

    keep(place, FILE, "LICENSE")
    folder = place / "examples" / "pets"
    folder.mkdir()
    images, labels = blurred(1600, 8, seed=0)
    for index, (image, label) in enumerate(zip(images, labels, strict=True)):
        Image.fromarray(image).save(folder / f"breed{label}_{index}.jpg", quality=90)
    pretrain(place / "examples" / "pretrained.pth")


RECIPE = Recipe(
    repository="huggingface/accelerate",
    commit="16cb6eb80dd9aa8b4df1a63ef57863e455d53b83",
    kind="image classification on frozen features, own loop with accelerate",
    needs=("accelerate", "timm", "torchvision"),
    folder="examples",
    command=("cv_example.py", "--data_dir", "pets", "--cpu"),
    files=(FILE,),
    seconds=8,
    prepare=prepare,
    shorten=(
        (FILE, r"shuffle=True, batch_size=batch_size, num_workers=4", "shuffle=True, batch_size=batch_size"),
        (FILE, r"shuffle=False, batch_size=batch_size, num_workers=4", "shuffle=False, batch_size=batch_size"),
        (
            FILE,
            r'"resnet50d", pretrained=True',
            f'"{NETWORK}", pretrained=True, pretrained_cfg_overlay={{"file": "pretrained.pth", "num_classes": 16}}',
        ),
        (FILE, r'"batch_size": 64, "image_size": 224', '"batch_size": 32, "image_size": 32'),
    ),
    result=Result(r"epoch \d+: ([\d.]+)", "higher"),
)  # fmt: skip
