"""Write tests/golden/text: what well-known libraries print while they train, byte for byte as it reaches a file.

Run in an environment with tqdm 4.70.1, keras 3.15.1, torch 2.13.0, transformers 5.22.2, accelerate 1.15.0,
lightning 2.6.6, stable-baselines3 2.9.2, xgboost 3.2.0, lightgbm 4.7.0 and scikit-learn:
    KERAS_BACKEND=torch python tests/golden/make/write_text.py
Each function below is run in a process of its own; `expected.json` holds what it measured while it printed.
"""

from __future__ import annotations

import json
import math
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent.parent / "text"


def tqdm_bars() -> dict[str, list[float]]:
    """A loop over batches in a loop over epochs, the loss beside the bar and a line printed after every epoch."""
    from tqdm import tqdm

    losses: list[float] = []
    accuracies: list[float] = []
    for epoch in range(3):
        bar = tqdm(range(20), desc=f"Epoch {epoch}", mininterval=0, ascii=epoch == 2)
        for batch in bar:
            loss = round(2 * math.exp(-(epoch * 20 + batch) / 15), 3)
            bar.set_postfix(loss=loss, refresh=True)
            losses.append(loss)
        accuracies.append(round(0.5 + 0.1 * epoch, 2))
        tqdm.write(f"val_acc: {accuracies[-1]}", file=sys.stdout)
    return {"loss": losses, "val_acc": accuracies}


def _keras(verbose: int) -> dict[str, list[float]]:
    import keras
    import numpy as np

    keras.utils.set_random_seed(0)
    inputs = np.random.default_rng(0).normal(size=(120, 4))
    targets = inputs @ np.array([1.0, -2.0, 0.5, 3.0])
    model = keras.Sequential([keras.layers.Dense(8, activation="relu"), keras.layers.Dense(1)])
    model.compile(optimizer="adam", loss="mse", metrics=["mae"])
    history = model.fit(inputs, targets, epochs=4, batch_size=10, validation_split=0.25, verbose=verbose)
    result = model.evaluate(inputs, targets, verbose=verbose)
    return {**{k: [float(x) for x in v] for k, v in history.history.items()}, "evaluated": [float(x) for x in result]}


def keras_bars() -> dict[str, list[float]]:
    return _keras(1)


def keras_lines() -> dict[str, list[float]]:
    return _keras(2)


def transformers_trainer() -> dict[str, list[float]]:
    """Version 5 prints its numbers as quoted words, around the frames of a bar."""
    import torch
    from torch import nn
    from transformers import Trainer, TrainingArguments

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(4, 1)

        def forward(self, x: torch.Tensor, labels: torch.Tensor) -> dict[str, torch.Tensor]:
            predicted = self.layer(x).squeeze(-1)
            return {"loss": ((predicted - labels) ** 2).mean(), "logits": predicted}

    torch.manual_seed(0)
    rows = [{"x": torch.randn(4), "labels": torch.randn(())} for _ in range(40)]
    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(
            folder, num_train_epochs=3, per_device_train_batch_size=4, logging_steps=5, eval_strategy="epoch", learning_rate=0.05,  # noqa: E501
            report_to=[], save_strategy="no", use_cpu=True, seed=0,
        )  # fmt: skip
        trainer = Trainer(Model(), arguments, train_dataset=rows, eval_dataset=rows[:8])
        trainer.train()
    history = trainer.state.log_history
    return {
        "loss": [row["loss"] for row in history if "loss" in row],
        "eval_loss": [row["eval_loss"] for row in history if "eval_loss" in row],
        "epoch": [row["epoch"] for row in history if "loss" in row],
    }


def lightning_bar() -> dict[str, list[float]]:
    import lightning
    import torch
    from lightning.pytorch.callbacks import TQDMProgressBar
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    losses: list[float] = []

    class Model(lightning.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(4, 1)

        def training_step(self, batch: Any, index: int) -> torch.Tensor:
            loss = ((self.layer(batch[0]) - batch[1]) ** 2).mean()
            self.log("train_loss", loss, prog_bar=True)
            losses.append(loss.item())
            return loss

        def configure_optimizers(self) -> torch.optim.Optimizer:
            return torch.optim.SGD(self.parameters(), lr=0.1)

    lightning.seed_everything(0, verbose=False)
    inputs = torch.randn(60, 4)
    data = DataLoader(TensorDataset(inputs, inputs.sum(1, keepdim=True)), batch_size=10)
    with tempfile.TemporaryDirectory() as folder:
        trainer = lightning.Trainer(
            max_epochs=3, logger=False, enable_checkpointing=False, accelerator="cpu", default_root_dir=folder,
            callbacks=[TQDMProgressBar(refresh_rate=1)],
        )  # fmt: skip
        trainer.fit(Model(), data)
    return {"train_loss": losses}


def sb3_tables() -> dict[str, list[float]]:
    from stable_baselines3 import PPO
    from stable_baselines3.common.callbacks import BaseCallback

    rewards: list[float] = []
    model = PPO("MlpPolicy", "CartPole-v1", n_steps=64, batch_size=32, n_epochs=2, seed=0, device="cpu", verbose=1)

    class Watch(BaseCallback):
        def _on_step(self) -> bool:
            return True

        def _on_rollout_end(self) -> None:
            infos = [info["r"] for info in self.model.ep_info_buffer or []]
            rewards.append(float(sum(infos) / len(infos)) if infos else math.nan)

    model.learn(320, callback=Watch())
    return {"ep_rew_mean": rewards}


def xgboost_lines() -> dict[str, list[float]]:
    import xgboost
    from sklearn.datasets import load_breast_cancer

    features, labels = load_breast_cancer(return_X_y=True)
    train, valid = (xgboost.DMatrix(features[s], labels[s]) for s in (slice(0, 400), slice(400, None)))
    found: dict[str, dict[str, list[float]]] = {}
    xgboost.train(
        {"objective": "binary:logistic", "eval_metric": "logloss", "seed": 0}, train, 12,
        evals=[(train, "train"), (valid, "valid")], evals_result=found,
    )  # fmt: skip
    return {"train-logloss": found["train"]["logloss"], "valid-logloss": found["valid"]["logloss"]}


def lightgbm_lines() -> dict[str, list[float]]:
    import lightgbm
    from sklearn.datasets import load_breast_cancer

    features, labels = load_breast_cancer(return_X_y=True)
    train = lightgbm.Dataset(features[:400], labels[:400])
    valid = lightgbm.Dataset(features[400:], labels[400:], reference=train)
    found: dict[str, dict[str, list[float]]] = {}
    lightgbm.train(
        {"objective": "binary", "metric": "binary_logloss", "seed": 0, "num_threads": 1}, train, 10, [train, valid],
        callbacks=[lightgbm.log_evaluation(1), lightgbm.record_evaluation(found)],
    )  # fmt: skip
    return {"training": found["training"]["binary_logloss"], "valid_1": found["valid_1"]["binary_logloss"]}


def sklearn_mlp() -> dict[str, list[float]]:
    from sklearn.datasets import load_breast_cancer
    from sklearn.neural_network import MLPClassifier
    from sklearn.preprocessing import scale

    features, labels = load_breast_cancer(return_X_y=True)
    model = MLPClassifier((8,), max_iter=12, random_state=0, verbose=True, early_stopping=True)
    model.fit(scale(features), labels)
    return {
        "loss": [float(x) for x in model.loss_curve_],
        "Validation score": [float(x) for x in model.validation_scores_],
    }


PROGRAMS = {
    f.__name__: f
    for f in (
        tqdm_bars, keras_bars, keras_lines, transformers_trainer, lightning_bar, sb3_tables, xgboost_lines, lightgbm_lines, sklearn_mlp,  # noqa: E501
    )
}  # fmt: skip


def _impersonal(output: bytes) -> bytes:
    """Without the paths of this machine, and without Lightning's changing advice."""
    output = re.sub(rb"(?:/[\w.-]+)+/site-packages", b"/site-packages", output)
    return re.sub(rb"[^\n]*\bTip: [^\n]*\n", b"", output)


def main() -> None:
    HERE.mkdir(parents=True, exist_ok=True)
    expected: dict[str, Any] = {}
    for name in PROGRAMS:
        with tempfile.TemporaryDirectory() as folder:
            result = Path(folder) / "result.json"
            command = [sys.executable, __file__, name, str(result)]
            output = subprocess.run(
                command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=True, cwd=folder
            ).stdout
            (HERE / f"{name}.txt").write_bytes(_impersonal(output))
            expected[name] = json.loads(result.read_text())
    (HERE / "expected.json").write_text(json.dumps(expected, indent=1) + "\n")


if __name__ == "__main__":
    if len(sys.argv) == 3:
        measured = PROGRAMS[sys.argv[1]]()
        sys.stdout.flush()
        Path(sys.argv[2]).write_text(json.dumps(measured))
    else:
        main()
