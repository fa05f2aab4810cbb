"""Write tests/golden/lightning with Lightning's CSVLogger: a small regression, trained for real and once resumed.

Run in an environment with lightning 2.6.6 and torch 2.13.0:
    python tests/golden/make/write_lightning.py
"""

from __future__ import annotations

import json
import shutil
import tempfile
import warnings
from pathlib import Path
from typing import Any

import lightning as L
import torch
from lightning.pytorch.callbacks import LearningRateMonitor
from lightning.pytorch.loggers import CSVLogger
from torch.utils.data import DataLoader, TensorDataset

HERE = Path(__file__).resolve().parent.parent / "lightning"


class Regression(L.LightningModule):
    def __init__(self, lr: float = 0.05, width: int = 8, dropout: float = 0.1) -> None:
        super().__init__()
        self.save_hyperparameters()
        self.net = torch.nn.Sequential(torch.nn.Linear(4, width), torch.nn.ReLU(), torch.nn.Linear(width, 1))
        self.seen: dict[str, list[list[float]]] = {"train_loss_step": [], "val_loss": []}

    def training_step(self, batch: Any, _: int) -> torch.Tensor:
        inputs, targets = batch
        loss = torch.nn.functional.mse_loss(self.net(inputs), targets)
        self.log("train_loss", loss, on_step=True, on_epoch=True)
        if (self.global_step + 1) % self.trainer.log_every_n_steps == 0:
            self.seen["train_loss_step"].append([self.global_step, float(loss)])
        return loss

    def validation_step(self, batch: Any, _: int) -> None:
        inputs, targets = batch
        self.log("val_loss", torch.nn.functional.mse_loss(self.net(inputs), targets))

    def on_validation_epoch_end(self) -> None:
        if not self.trainer.sanity_checking:
            self.seen["val_loss"].append([self.global_step - 1, float(self.trainer.callback_metrics["val_loss"])])

    def configure_optimizers(self) -> Any:
        optimizer = torch.optim.SGD(self.parameters(), lr=self.hparams["lr"])
        return [optimizer], [torch.optim.lr_scheduler.StepLR(optimizer, 2, 0.5)]


def main() -> None:
    warnings.filterwarnings("ignore")
    L.seed_everything(0)
    inputs = torch.randn(96, 4)
    data = TensorDataset(inputs, inputs.sum(1, keepdim=True))
    shutil.rmtree(HERE, ignore_errors=True)
    with tempfile.TemporaryDirectory() as folder:
        model = Regression()
        logger = CSVLogger(folder)
        trainer = L.Trainer(
            max_epochs=4, logger=logger, log_every_n_steps=3, callbacks=[LearningRateMonitor()], enable_progress_bar=False,  # noqa: E501
            enable_model_summary=False, default_root_dir=folder, accelerator="cpu", enable_checkpointing=False,
        )  # fmt: skip
        trainer.fit(model, DataLoader(data, 12, shuffle=True), DataLoader(data, 48))
        shutil.copytree(Path(folder, "lightning_logs"), HERE / "lightning_logs")
    (HERE / "expected.json").write_text(json.dumps(model.seen))


if __name__ == "__main__":
    main()
