"""The files that the commands of docs/seeds.md are run on: a log for each curve the documents describe, and a tiny
training for each fault.

    python benchmarks/seeds/scenarios.py FOLDER"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
STEPS = 300


def noise(count: int, size: float, seed: int = 0) -> Floats:
    return size * np.random.default_rng(seed).standard_normal(count)


def falling(count: int, first: float, last: float, share: float = 0.2) -> Floats:
    return last + (first - last) * np.exp(-np.arange(count) / (share * count))


def table(columns: dict[str, Sequence[float] | Floats], counter: str = "step") -> str:
    rows = zip(*columns.values(), strict=True)
    lines = [",".join([counter, *columns])]
    lines += [",".join([str(place), *(f"{value:.7g}" for value in row)]) for place, row in enumerate(rows)]
    return "\n".join(lines) + "\n"


def epochs(**columns: Floats) -> str:
    return table(dict(columns), "epoch")


def logs() -> dict[str, str]:
    """By file name."""
    steps = np.arange(STEPS)
    good = falling(STEPS, 2.3, 0.25) * (1 + noise(STEPS, 0.03))
    norms = 1.5 * (1 + np.abs(noise(STEPS, 0.2, 1)))
    early = np.concatenate([[2.31, 2.9, 25.3], np.full(STEPS - 3, np.nan)])
    late = np.where(steps < 200, good, np.nan)
    grown = np.where(steps < 180, norms, norms * np.exp((steps - 180) / 3.0))
    jump = np.where((steps >= 150) & (steps < 170), 2.2, good)
    raised = np.where(steps >= 150, 0.05, 0.001)
    jumped = np.where(steps >= 150, good + 1.4 * np.exp(-(steps - 150) / 60), good)
    e = np.arange(60)
    hump = 0.5 + 1.5 * np.exp(-e / 4) + 0.7 * np.exp(-(((e - 22) / 6.0) ** 2)) - 0.004 * e
    return {
        "healthy.csv": table({"loss": good, "grad_norm": norms, "lr": np.full(STEPS, 1e-3)}),
        "flat.csv": table({"loss": 2.303 + noise(STEPS, 0.01)}),
        "plateau.csv": table({"loss": np.where(steps < 60, 2.3 - 1.3 * steps / 60, 1.0) + noise(STEPS, 0.01)}),
        "slow.csv": table({"loss": 2.30 - 0.12 * steps / STEPS + noise(STEPS, 0.004)}),
        "swings.csv": table({"loss": 1.2 + 0.9 * np.sin(steps / 4.0) + noise(STEPS, 0.1)}),
        "spike.csv": table({"loss": jump, "grad_norm": np.where((steps >= 150) & (steps < 170), 180.0, norms)}),
        "rate_spike.csv": table({"loss": jumped, "lr": raised}),
        "early_nan.csv": table({"loss": early}),
        "late_nan.csv": table({"loss": late, "grad_norm": np.where(steps < 200, grown, np.nan)}),
        "calm_nan.csv": table({"loss": late, "grad_norm": np.where(steps < 200, norms, np.nan)}),
        "vanishing.csv": table({"loss": 2.303 + noise(STEPS, 0.003),
                                "grad_norm": 1e-8 * (1 + np.abs(noise(STEPS, 0.3)))}),
        "exploding.csv": table({"loss": np.where(steps < 200, good, good * np.exp((steps - 200) / 20)),
                                "grad_norm": np.where(steps < 200, norms, norms * np.exp((steps - 200) / 12))}),
        "overfit.csv": epochs(
            train_loss=falling(60, 2.3, 0.02), val_loss=0.9 + 1.4 * np.exp(-e / 4) + 0.03 * e,
            train_accuracy=1 - 0.9 * np.exp(-e / 9), val_accuracy=0.69 - 0.5 * np.exp(-e / 4),
        ),
        "gap.csv": epochs(
            train_loss=falling(60, 2.3, 0.02), val_loss=1.7 + 0.6 * np.exp(-e / 4),
            train_accuracy=1 - 0.9 * np.exp(-e / 9), val_accuracy=0.69 - 0.5 * np.exp(-e / 4),
        ),
        "underfit.csv": epochs(train_loss=2.1 + 0.2 * np.exp(-e / 5), val_loss=2.12 + 0.2 * np.exp(-e / 5)),
        "descent.csv": epochs(train_loss=falling(60, 2.0, 0.005), val_loss=hump),
        "sgd.csv": epochs(train_loss=falling(60, 2.3, 0.3), val_loss=falling(60, 2.3, 0.5)),
        "adam.csv": epochs(train_loss=falling(60, 2.3, 0.1, 0.1), val_loss=falling(60, 2.3, 0.4, 0.1)),
        "oom.log": "".join(f"step {n} loss {value:.4f}\n" for n, value in enumerate(good[:60]))
        + 'Traceback (most recent call last):\n  File "train.py", line 9, in <module>\n    loss.backward()\n'
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n",
        "policy.csv": table({"rollout/ep_rew_mean": 20 + noise(STEPS, 1.5),
                             "train/entropy_loss": -0.69 + noise(STEPS, 0.001),
                             "train/approx_kl": np.abs(noise(STEPS, 1e-7)), "train/value_loss": 5 + noise(STEPS, 0.3)}),
        "config.yaml": "num_train_samples: 5000\nbatch_size: 64\nlearning_rate: 0.001\noptimizer: adam\n",
        "answers.yaml": "says: my loss went to NaN\nanswers:\n  symptoms: [nan]\n  precision: unscaled\n",
    }  # fmt: skip


HEAD = """\
import torch

torch.manual_seed(0)
x = torch.randn(1024, 12)
y = (x[:, :6].sum(1) > 0).long() + 2 * (x[:, 6:].sum(1) > 0).long()
"""

LOOP = """
for step in range(STEPS):
    chosen = torch.randint(0, len(x), (64,))
    loss = torch.nn.functional.cross_entropy(model(x[chosen]), y[chosen])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""

SCRIPTS = {
    "sound.py": "model = torch.nn.Sequential(torch.nn.Linear(12, 48), torch.nn.ReLU(), torch.nn.Linear(48, 4))\n"
    "optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)\n" + LOOP.replace("STEPS", "300"),
    "high.py": "model = torch.nn.Sequential(torch.nn.Linear(12, 48), torch.nn.ReLU(), torch.nn.Linear(48, 4))\n"
    "optimizer = torch.optim.AdamW(model.parameters(), lr=3.0)\n" + LOOP.replace("STEPS", "300"),
    "frozen.py": "model = torch.nn.Sequential(torch.nn.Linear(12, 48), torch.nn.ReLU(), torch.nn.Linear(48, 4))\n"
    "for parameter in model.parameters():\n    parameter.requires_grad = False\nmodel[2].bias.requires_grad = True\n"
    "optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n" + LOOP.replace("STEPS", "150"),
    "vanishing.py": "layers = [torch.nn.Linear(12, 32)]\nfor _ in range(10):\n"
    "    layers += [torch.nn.Sigmoid(), torch.nn.Linear(32, 32)]\n"
    "model = torch.nn.Sequential(*layers, torch.nn.Sigmoid(), torch.nn.Linear(32, 4))\n"
    "optimizer = torch.optim.SGD(model.parameters(), lr=0.05)\n" + LOOP.replace("STEPS", "150"),
    "dead.py": "model = torch.nn.Sequential(torch.nn.Linear(12, 48), torch.nn.ReLU(), torch.nn.Linear(48, 4))\n"
    "torch.nn.init.constant_(model[0].bias, -20.0)\n"
    "optimizer = torch.optim.SGD(model.parameters(), lr=0.05)\n" + LOOP.replace("STEPS", "150"),
    "saturated.py": "model = torch.nn.Sequential(torch.nn.Linear(12, 48), torch.nn.Tanh(), torch.nn.Linear(48, 4))\n"
    "torch.nn.init.normal_(model[0].weight, std=30.0)\n"
    "optimizer = torch.optim.SGD(model.parameters(), lr=0.05)\n" + LOOP.replace("STEPS", "150"),
    "nan.py": "model = torch.nn.Sequential(torch.nn.Linear(12, 48), torch.nn.ReLU(), torch.nn.Linear(48, 4))\n"
    "optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)\n"
    "for step in range(120):\n    chosen = torch.randint(0, len(x), (64,))\n    scores = torch.relu(model(x[chosen]))\n"
    "    loss = -torch.log(scores / scores.sum(1, keepdim=True))[torch.arange(64), y[chosen]].mean()\n"
    "    optimizer.zero_grad()\n    loss.backward()\n    optimizer.step()\n",
    "corrupt.py": "x[::150] = 300.0\n"
    "model = torch.nn.Sequential(torch.nn.Linear(12, 48), torch.nn.ReLU(), torch.nn.Linear(48, 4))\n"
    "optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)\n" + LOOP.replace("STEPS", "300"),
    "loader.py": "import time\n\n\nclass Slow(torch.utils.data.Dataset):\n    def __len__(self):\n        "
    "return 9600\n\n"
    "    def __getitem__(self, i):\n        time.sleep(0.0004)\n        return x[i % 1024], y[i % 1024]\n\n\n"
    "model = torch.nn.Sequential(torch.nn.Linear(12, 48), torch.nn.ReLU(), torch.nn.Linear(48, 4))\n"
    "optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)\n"
    "for inputs, targets in torch.utils.data.DataLoader(Slow(), batch_size=64, shuffle=True):\n"
    "    loss = torch.nn.functional.cross_entropy(model(inputs), targets)\n"
    "    optimizer.zero_grad()\n    loss.backward()\n    optimizer.step()\n",
}

NET = """\
import torch


def make():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(12, 48), torch.nn.ReLU(), torch.nn.Linear(48, 4))
"""


def write(folder: Path) -> None:
    """All files, into this folder."""
    for name, text in logs().items():
        (folder / name).write_text(text)
    for name, body in SCRIPTS.items():
        (folder / name).write_text(HEAD + body)
    (folder / "net.py").write_text(NET)
    chance = np.random.default_rng(0)
    np.savez(folder / "sample.npz", x=chance.normal(size=(64, 12)).astype(np.float32), y=chance.integers(0, 4, 64))


if __name__ == "__main__":
    write(Path(sys.argv[1]))
