"""Diffusers' example that trains a DDPM on a folder of pictures, with a small UNet from a configuration file."""

import json
from pathlib import Path

from data import image_folders
from recipe import Recipe, Result
from recipes._hugging_face import HOME, keep

FOLDER = "examples/unconditional_image_generation"


def prepare(place: Path) -> None:
    keep(place, f"{FOLDER}/train_unconditional.py", "LICENSE")
    folder = place / FOLDER
    image_folders(folder / "pictures", {"train": 1200}, size=16)
    config = {
        "_class_name": "UNet2DModel", "sample_size": 16, "in_channels": 3, "out_channels": 3, "layers_per_block": 1,
        "block_out_channels": [16, 32], "norm_num_groups": 8, "add_attention": False,
        "down_block_types": ["DownBlock2D", "DownBlock2D"], "up_block_types": ["UpBlock2D", "UpBlock2D"],
    }  # fmt: skip
    (folder / "unet").mkdir()
    (folder / "unet" / "config.json").write_text(json.dumps(config), "utf-8")


RECIPE = Recipe(
    repository="huggingface/diffusers",
    commit="58eb52c0803ea9af3abec60841c2a093bdf1f951",
    kind="DDPM of pictures, own loop with accelerate",
    needs=("diffusers", "datasets", "accelerate", "torchvision", "tensorboard"),
    folder=FOLDER,
    command=(
        "train_unconditional.py", "--train_data_dir", "pictures", "--model_config_name_or_path", "unet", "--resolution",
        "16",
        "--train_batch_size", "32", "--eval_batch_size", "4", "--num_epochs", "4", "--save_images_epochs", "100",
        "--save_model_epochs", "100", "--learning_rate", "1e-3", "--lr_warmup_steps", "20",
        "--ddpm_num_inference_steps", "10",
        "--use_ema", "--output_dir", "out",
    ),
    files=(f"{FOLDER}/train_unconditional.py",),
    seconds=22,
    prepare=prepare,
    environment=HOME,
    result=Result(r"loss=([\d.]+)", "lower"),
)  # fmt: skip
