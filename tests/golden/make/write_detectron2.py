"""Write tests/golden/detectron2: metrics.json and log.txt of detectron2's own training loop around a tiny model.

Run in an environment with torch 2.13.0, fvcore, iopath, yacs, omegaconf, tabulate, termcolor, cloudpickle, pycocotools and
torchvision, with a checkout of facebookresearch/detectron2 at 02b5c4e (its compiled operators are not needed for this):
    python tests/golden/make/write_detectron2.py PATH_OF_THE_CHECKOUT
"""  # noqa: E501

from __future__ import annotations

import re
import shutil
import sys
import tempfile
import types
from pathlib import Path
from typing import Any

import torch
import vision_ops

vision_ops.declare()
sys.path.insert(0, sys.argv[1])
sys.modules["detectron2._C"] = types.ModuleType("detectron2._C")

from detectron2.config import get_cfg  # noqa: E402
from detectron2.engine import HookBase, SimpleTrainer, hooks  # noqa: E402
from detectron2.evaluation.testing import print_csv_format  # noqa: E402
from detectron2.solver import build_lr_scheduler  # noqa: E402
from detectron2.utils.events import CommonMetricPrinter, JSONWriter  # noqa: E402
from detectron2.utils.logger import setup_logger  # noqa: E402
from torch import nn  # noqa: E402

HERE = Path(__file__).resolve().parent.parent / "detectron2"
ITERATIONS = 200


class Detector(nn.Module):
    """Stands for a detector: what matters here is a dictionary of losses."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 5))

    def forward(self, batch: tuple[torch.Tensor, torch.Tensor]) -> dict[str, torch.Tensor]:
        inputs, labels = batch
        scores = self.layers(inputs)
        boxes = (scores[:, 3:] - inputs[:, :2]).abs().mean()
        return {"loss_cls": nn.functional.cross_entropy(scores[:, :3], labels), "loss_box_reg": boxes}


def batches(seed: int) -> Any:
    generator = torch.Generator().manual_seed(seed)
    while True:
        inputs = torch.randn(8, 4, generator=generator)
        yield inputs, inputs[:, :3].argmax(1)


class ValidationLoss(HookBase):
    """The usual extra hook of people who want to see one."""

    def after_step(self) -> None:
        if (self.trainer.iter + 1) % 50 == 0:
            with torch.no_grad():
                losses = self.trainer.model(next(batches(7)))
            self.trainer.storage.put_scalar("validation_loss", float(sum(losses.values())))


def main() -> None:
    shutil.rmtree(HERE, ignore_errors=True)
    HERE.mkdir(parents=True)
    torch.manual_seed(0)
    config = get_cfg()
    config.SOLVER.BASE_LR, config.SOLVER.MAX_ITER, config.SOLVER.WARMUP_ITERS = 0.2, ITERATIONS, 20
    config.SOLVER.STEPS, config.SOLVER.IMS_PER_BATCH, config.MODEL.DEVICE = (150,), 8, "cpu"
    config.MODEL.ROI_HEADS.NUM_CLASSES, config.OUTPUT_DIR = 3, "./output"
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        logger = setup_logger(str(folder))
        logger.info("Rank of current process: 0. World size: 1")
        logger.info("Running with full config:\n" + config.dump())
        (folder / "config.yaml").write_text(config.dump())
        model = Detector()
        optimizer = torch.optim.SGD(model.parameters(), lr=config.SOLVER.BASE_LR, momentum=0.5)
        trainer = SimpleTrainer(model, batches(0), optimizer)

        def evaluate() -> dict[str, Any]:
            inputs, labels = next(batches(9))
            right = float((model.layers(inputs)[:, :3].argmax(1) == labels).float().mean())
            results = {"bbox": {"AP": 60 * right, "AP50": 90 * right, "AP75": 55 * right}}
            print_csv_format(results)
            return results

        trainer.register_hooks([
            hooks.IterationTimer(), hooks.LRScheduler(optimizer, build_lr_scheduler(config, optimizer)), ValidationLoss(),  # noqa: E501
            hooks.EvalHook(50, evaluate),
            hooks.PeriodicWriter([CommonMetricPrinter(ITERATIONS), JSONWriter(str(folder / "metrics.json"))], period=20),  # noqa: E501
        ])  # fmt: skip
        trainer.train(0, ITERATIONS)
        for name in ("metrics.json", "log.txt", "config.yaml"):
            text = re.sub(r"(?:/[\w.+-]+)+/site-packages", "/site-packages", (folder / name).read_text())
            (HERE / name).write_text(text.replace(temporary, "/data"))


if __name__ == "__main__":
    main()
