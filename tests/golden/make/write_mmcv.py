"""Write tests/golden/mmcv: the .log.json and the text log of trainings with mmcv 1's runners, as mmdet 2 used them.

Run in an environment with Python 3.8, torch 1.12.1 and mmcv 1.7.2 (MMCV_WITH_OPS=0 pip install --no-build-isolation mmcv):
    python tests/golden/make/write_mmcv.py
"""  # noqa: E501

import logging
import re
import shutil
import tempfile
import time
from pathlib import Path

import torch
from mmcv.runner import EpochBasedRunner, EvalHook, IterBasedRunner
from mmcv.utils import Config, get_logger
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

# ruff: noqa: C408 - settings as OpenMMLab's users write them
HERE = Path(__file__).resolve().parent.parent / "mmcv"
SETTINGS = dict(
    model=dict(type="Classifier", num_classes=3),
    data=dict(samples_per_gpu=8),
    optimizer=dict(type="Adam", lr=0.001),
    optimizer_config=dict(grad_clip=dict(max_norm=5.0)),
    lr_config=dict(policy="step", warmup="linear", warmup_iters=10, warmup_ratio=0.1, step=[4]),
)


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(4, 768), nn.ReLU(), nn.Linear(768, 768), nn.ReLU(), nn.Linear(768, 3))

    def forward(self, inputs):
        return self.layers(inputs)

    def train_step(self, batch, optimizer, **kwargs):
        inputs, labels = batch
        scores = self(inputs)
        loss_cls, loss_reg = nn.functional.cross_entropy(scores, labels), 1e-3 * scores.square().mean()
        loss = loss_cls + loss_reg
        shown = {"loss_cls": loss_cls.item(), "loss_reg": loss_reg.item(), "loss": loss.item()}
        return {"loss": loss, "log_vars": shown, "num_samples": len(labels)}


class Points(TensorDataset):
    def __init__(self, count, seed):
        inputs = torch.randn(count, 4, generator=torch.Generator().manual_seed(seed))
        super().__init__(inputs, inputs[:, :3].argmax(1))

    def evaluate(self, results, logger=None, **kwargs):
        predicted = torch.stack(results).argmax(1)
        return {"accuracy_top-1": 100 * float((predicted == self.tensors[1]).float().mean())}


def predict(model, loader):
    with torch.no_grad():
        return [row for inputs, _ in loader for row in model(inputs)]


def train(folder: Path, by_epoch: bool) -> None:
    torch.manual_seed(0)
    config = Config(SETTINGS)
    logger = get_logger("mmdet", log_file=str(folder / "20230605_200942.log"), log_level=logging.INFO)
    model = Classifier()
    size = {"max_epochs": 6} if by_epoch else {"max_iters": 120}
    runner = (EpochBasedRunner if by_epoch else IterBasedRunner)(
        model, optimizer=torch.optim.Adam(model.parameters(), lr=0.001), work_dir=str(folder), logger=logger,
        meta=dict(env_info="sys.platform: linux\nPyTorch: 1.12.1", config=config.pretty_text, seed=0, exp_name="classifier.py"), **size,  # noqa: E501
    )  # fmt: skip
    runner.timestamp = "20230605_200942"
    runner.register_training_hooks(
        dict(SETTINGS["lr_config"], step=[4 if by_epoch else 80]), SETTINGS["optimizer_config"],
        log_config=dict(interval=5, hooks=[dict(type="TextLoggerHook", by_epoch=by_epoch)]),
    )  # fmt: skip
    loader = DataLoader(Points(160, 0), batch_size=8, shuffle=True)
    held_out = DataLoader(Points(40, 1), batch_size=8)
    runner.register_hook(
        EvalHook(held_out, interval=1 if by_epoch else 30, by_epoch=by_epoch, test_fn=predict), priority="LOW"
    )
    runner.run([loader], [("train", 1)])
    for handler in list(logger.handlers):
        logger.removeHandler(handler)


def main() -> None:
    from mmcv.utils import logging as names

    time.sleep = lambda seconds: (
        None
    )  # the runners pause before every epoch, which in a training of seconds looks like slow data
    shutil.rmtree(HERE, ignore_errors=True)
    for name, by_epoch in (("by_epoch", True), ("by_iter", False)):
        names.logger_initialized.clear()
        with tempfile.TemporaryDirectory() as temporary:
            train(Path(temporary), by_epoch)
            (HERE / name).mkdir(parents=True)
            for path in sorted(Path(temporary).iterdir()):
                if path.is_file() and path.suffix in (".json", ".log"):
                    text = re.sub(r"Start running, host: \S+", "Start running, host: user@host", path.read_text())
                    (HERE / name / path.name).write_text(text.replace(temporary, "/data"))


if __name__ == "__main__":
    main()
