"""Write tests/golden/mmengine: work folders of real trainings with mmengine's Runner, by epochs and by iterations.

Run in an environment with torch 2.13.0, mmengine 0.10.7 and opencv-python-headless:
    python tests/golden/make/write_mmengine.py
"""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
import vision_ops

vision_ops.declare()

from mmengine.config import Config  # noqa: E402
from mmengine.evaluator import BaseMetric  # noqa: E402
from mmengine.model import BaseModel  # noqa: E402
from mmengine.registry import DATASETS, METRICS, MODELS  # noqa: E402
from mmengine.runner import Runner  # noqa: E402
from torch import nn  # noqa: E402
from torch.utils.data import TensorDataset  # noqa: E402

HERE = Path(__file__).resolve().parent.parent / "mmengine"


@MODELS.register_module()
class Classifier(BaseModel):
    def __init__(self, num_classes: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, num_classes))

    def forward(self, inputs: torch.Tensor, labels: torch.Tensor, mode: str = "tensor") -> Any:
        scores = self.layers(inputs)
        if mode == "loss":
            return {"loss_cls": nn.functional.cross_entropy(scores, labels), "loss_reg": 1e-3 * scores.square().mean()}
        return scores.argmax(1), labels


@METRICS.register_module()
class Accuracy(BaseMetric):
    default_prefix = "accuracy"

    def process(self, batch: Any, samples: Sequence[Any]) -> None:
        predicted, labels = samples
        self.results.append((int((predicted == labels).sum()), len(labels)))

    def compute_metrics(self, results: list[Any]) -> dict[str, float]:
        return {"top1": 100 * sum(right for right, _ in results) / sum(count for _, count in results)}


@DATASETS.register_module()
class Points(TensorDataset):
    def __init__(self, count: int, seed: int) -> None:
        inputs = torch.randn(count, 4, generator=torch.Generator().manual_seed(seed))
        super().__init__(inputs, inputs[:, :3].argmax(1))


def loader(count: int, seed: int, sampler: str) -> dict[str, Any]:
    return {
        "batch_size": 8, "num_workers": 0, "collate_fn": {"type": "default_collate"},
        "dataset": {"type": "Points", "count": count, "seed": seed}, "sampler": {"type": sampler, "shuffle": seed == 0},
    }  # fmt: skip


def train(folder: Path, by_epoch: bool) -> None:
    loop = (
        {"by_epoch": True, "max_epochs": 5, "val_interval": 1}
        if by_epoch
        else {"type": "IterBasedTrainLoop", "max_iters": 100, "val_interval": 25}
    )
    schedule = {"type": "CosineAnnealingLR", "T_max": 5 if by_epoch else 100, "by_epoch": by_epoch}
    settings = {
        "model": {"type": "Classifier", "num_classes": 3},
        "work_dir": str(folder),
        "train_dataloader": loader(160, 0, "DefaultSampler" if by_epoch else "InfiniteSampler"),
        "train_cfg": loop,
        "optim_wrapper": {
            "optimizer": {"type": "AdamW", "lr": 0.02, "weight_decay": 0.01},
            "clip_grad": {"max_norm": 5.0},
        },
        "param_scheduler": [{**schedule, "convert_to_iter_based": True} if by_epoch else schedule],
        "val_dataloader": loader(40, 1, "DefaultSampler"),
        "val_cfg": {},
        "val_evaluator": {"type": "Accuracy"},
        "default_hooks": {
            "logger": {"type": "LoggerHook", "interval": 5, "log_metric_by_epoch": by_epoch},
            "checkpoint": {"type": "CheckpointHook", "interval": -1},
        },
        "log_processor": {"window_size": 5, "by_epoch": by_epoch},
        "randomness": {"seed": 0},
        "experiment_name": "points_" + ("by_epoch" if by_epoch else "by_iter"),
    }
    Runner.from_cfg(Config(settings)).train()


def _impersonal(text: str, folder: str) -> str:
    """Without the machine it was written on."""
    text = re.sub(r"(?:/[\w.+-]+)+/site-packages", "/site-packages", text).replace(folder, "/data")
    return re.sub(
        r"(?ms)^(    (?:GCC|Python|PyTorch compiling details|GPU \d+): ).*?(?=^    \w|^$)", r"\1hidden\n", text
    )


def main() -> None:
    shutil.rmtree(HERE, ignore_errors=True)
    for name, by_epoch in (("by_epoch", True), ("by_iter", False)):
        with tempfile.TemporaryDirectory() as temporary:
            train(Path(temporary), by_epoch)
            for path in sorted(Path(temporary).rglob("*")):
                if path.name in ("scalars.json", "config.py") or path.suffix == ".log":
                    target = HERE / name / path.relative_to(temporary)
                    target.parent.mkdir(parents=True, exist_ok=True)
                    target.write_text(_impersonal(path.read_text(), temporary))


if __name__ == "__main__":
    main()
