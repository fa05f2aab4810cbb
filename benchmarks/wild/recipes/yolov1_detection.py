"""Object detection with a YOLOv1, made thin: squares, discs, crosses and rings on noisy pictures, a sum of squared
errors, Adam."""

from pathlib import Path

import numpy as np
from recipe import Recipe, Result

FOLDER = "ML/Pytorch/object_detection/YOLO"
SIZE = 56  # pixels; three halvings leave the 7 x 7 cells of the loss
THIN = (
    'architecture_config = [(3, 16, 2, 1), (3, 32, 1, 1), "M", (3, 64, 1, 1), "M", '
    "[(1, 32, 1, 0), (3, 64, 1, 1), 1], (3, 64, 1, 1)]\n"
)


def shape(kind: int, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """The object in coordinates from -1 to 1 over its box."""
    inside = np.maximum(abs(rows), abs(columns)) <= 1
    away = rows**2 + columns**2
    square, disc, ring = inside, away <= 1, (away <= 1) & (away > 0.35)
    cross = inside & (np.minimum(abs(rows), abs(columns)) < 0.35)
    return (square, disc, cross, ring)[kind]


def scene(draw: np.random.Generator) -> tuple[np.ndarray, list[str]]:
    rows, columns = np.mgrid[0:SIZE, 0:SIZE] + 0.5
    image = draw.uniform(0.1, 0.4, 3) + draw.normal(0, 0.06, (SIZE, SIZE, 3))
    labels = []
    first = draw.uniform(0.18, 0.38)
    for x in (first, first + draw.uniform(0.4, 0.44))[: draw.integers(1, 3)]:
        kind, y = int(draw.integers(4)), draw.uniform(0.25, 0.75)
        wide, high = draw.uniform(0.22, 0.36, 2)
        seen = shape(kind, (rows / SIZE - y) * 2 / high, (columns / SIZE - x) * 2 / wide)
        image = np.where(seen[..., None], draw.uniform(0.6, 1.0, 3), image)
        labels.append(f"{kind} {x:.6f} {y:.6f} {wide:.6f} {high:.6f}")
    return image, labels


def prepare(place: Path) -> None:
    from PIL import Image

    data = place / FOLDER / "data"
    for name in ("images", "labels"):
        (data / name).mkdir(parents=True)
    draw = np.random.default_rng(0)
    for part, count in (("100examples", 112), ("test", 16)):
        listed = ["img,label"]
        for index in range(count):
            image, labels = scene(draw)
            name = f"{part}_{index:03}"
            Image.fromarray((255 * image.clip(0, 1)).astype(np.uint8)).save(data / "images" / f"{name}.jpg", quality=90)
            (data / "labels" / f"{name}.txt").write_text("\n".join(labels) + "\n", "utf-8")
            listed.append(f"{name}.jpg,{name}.txt")
        (data / f"{part}.csv").write_text("\n".join(listed) + "\n", "utf-8")


RECIPE = Recipe(
    repository="aladdinpersson/Machine-Learning-Collection",
    commit="558557c7989f0b10fee6e8d8f953d7269ae43d4f",
    kind="object detection, own loop",
    needs=("torchvision", "pandas", "tqdm", "matplotlib", "pillow"),
    command=("train.py",),
    folder=FOLDER,
    paths=tuple(f"{FOLDER}/{name}.py" for name in ("train", "model", "loss", "dataset", "utils")),
    files=tuple(f"{FOLDER}/{name}.py" for name in ("train", "model", "loss", "dataset", "utils")),
    seconds=14,
    prepare=prepare,
    shorten=(
        (f"{FOLDER}/train.py", r"LEARNING_RATE = 2e-5", "LEARNING_RATE = 5e-4"),
        (f"{FOLDER}/train.py", r"torch\.cuda\.is_available else", "torch.cuda.is_available() else"),
        (f"{FOLDER}/train.py", r"EPOCHS = 1000", "EPOCHS = 7"),
        (f"{FOLDER}/train.py", r"BATCH_SIZE = 16", "BATCH_SIZE = 8"),
        (f"{FOLDER}/train.py", r"NUM_WORKERS = 2", "NUM_WORKERS = 0"),
        (f"{FOLDER}/train.py", r"PIN_MEMORY = True", "PIN_MEMORY = False"),
        (f"{FOLDER}/train.py", r"\(448, 448\)", f"({SIZE}, {SIZE})"),
        (f"{FOLDER}/model.py", r"architecture_config = \[\n(?:    .*\n)+\]\n", THIN),
        (
            f"{FOLDER}/model.py",
            r"            nn\.Linear\(1024 \* S \* S, 496\)",
            "            nn.Linear(64 * S * S, 256)",
        ),
        (f"{FOLDER}/model.py", r"nn\.Linear\(496, ", "nn.Linear(256, "),
        (f"{FOLDER}/utils.py", r'device="cuda"', 'device="cpu"'),
    ),
    result=Result(r"Train mAP: ([\d.]+)", "higher"),
)
