"""NaN that the user's code made before the model: the line is named, and data that came so are still called data."""

from __future__ import annotations

import linecache
import textwrap
from pathlib import Path
from typing import Any

import pytest
from live_scripts import HEAD, facts_of

LOOP = """
net = nn.Linear(4, 1); opt = torch.optim.SGD(net.parameters(), 0.01)
def train(X, y):
    for start in range(0, 64, 16):
        x = X[start:start + 16]
        {inside}
        loss = F.mse_loss(net(x).squeeze(1), y[start:start + 16]); opt.zero_grad(); loss.backward(); opt.step()
train(X, y)
"""
LOADED = """
net = nn.Linear(4, 1); opt = torch.optim.SGD(net.parameters(), 0.01)
for x, target in torch.utils.data.DataLoader(data, batch_size=16):
    loss = F.mse_loss(net(x).squeeze(1), target); opt.zero_grad(); loss.backward(); opt.step()
"""
TWO_INPUTS = """
net = nn.Linear(5, 1); opt = torch.optim.SGD(net.parameters(), 0.01)
for x, one, target in torch.utils.data.DataLoader(data, batch_size=16):
    both = torch.cat([x, one.unsqueeze(1)], 1)
    loss = F.mse_loss(net(both).squeeze(1), target); opt.zero_grad(); loss.backward(); opt.step()
"""
RAW = "raw = torch.rand(64, 4); raw[:, 2] = 1.0; y = raw[:, 0]\n"

MADE = {
    "divided by itself": (RAW + "X = (raw - raw.mean(0)) / raw.std(0)  # here" + LOOP, "nan-from-division"),
    "under its own name": (
        "X = torch.rand(64, 4); X[:, 2] = 1.0; y = X[:, 0]\nmu, sd = X.mean(0), X.std(0)\nX = (X - mu) / sd  # here"
        + LOOP,
        "nan-from-division",
    ),
    "in a function": (
        RAW + "def scale(t):\n    m = t.mean(0)\n    return (t - m) / t.std(0)  # here\nX = scale(raw)" + LOOP,
        "nan-from-division",
    ),
    "by numpy": (
        RAW
        + "import numpy as np\narray = raw.numpy() - 0.5\nwith np.errstate(all='ignore'):\n    logs = np.log(array)  # "
        "here\n"
        "X = torch.tensor(logs)" + LOOP,
        "nan-from-log",
    ),
    "in place": (RAW + "X = raw - raw.mean(0)\nsd = raw.std(0)\nX /= sd  # here" + LOOP, "nan-from-division"),
    "in the loop": (
        RAW + "X = raw\nX[20] = 0.5" + LOOP.format(inside="x = (x - x.mean(1, True)) / x.std(1, keepdim=True)  # here"),
        "nan-from-division",
    ),
    "in a data set": (
        RAW + "class Rows(torch.utils.data.Dataset):\n    def __init__(self): self.rows = raw\n    def __len__(self): "
        "return 64\n"
        "    def __getitem__(self, i):\n        row = self.rows[i] - (i == 40) * self.rows[i]\n"
        "        return row / row.sum(), y[i]  # here\ndata = Rows()" + LOADED,
        "nan-from-division",
    ),
}


def facts(script: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[dict[str, dict[str, Any]], str]:
    script = script.replace("{inside}", "pass")
    lines = (HEAD + textwrap.dedent(script)).splitlines(keepends=True)
    monkeypatch.setitem(linecache.cache, "train.py", (sum(map(len, lines)), None, lines, "train.py"))
    here = next((number for number, line in enumerate(lines, 1) if "# here" in line), 0)
    return facts_of(script, folder), f"train.py:{here}"


@pytest.mark.parametrize("story", MADE)
def test_the_line_that_made_it_is_named(tmp_path: Path, story: str, monkeypatch: pytest.MonkeyPatch) -> None:
    script, symptom = MADE[story]
    found, line = facts(script, tmp_path, monkeypatch)
    assert found[symptom]["present"], found
    assert found[symptom]["where"].endswith(line)
    assert not found["nonfinite-inputs"]["present"]


@pytest.mark.parametrize(
    "script",
    [
        RAW + "raw[20, 1] = float('nan')\nmu, sd = raw.nanmean(0), raw[:16].std(0) + 1e-6\nX = (raw - mu) / sd" + LOOP,
        "X = torch.rand(64, 4); X[20, 1] = float('nan'); y = X[:, 0].nan_to_num()\nsd = X[:16].std(0)\nX = X / sd"
        + LOOP,
        RAW + "raw[20, 1] = float('nan')\ndata = torch.utils.data.TensorDataset(raw, y)" + LOADED,
        RAW
        + "one = torch.rand(64); one[20] = float('nan')\ndata = torch.utils.data.TensorDataset(raw, one, y)"
        + TWO_INPUTS,
    ],
)
def test_data_that_came_so_are_called_data(tmp_path: Path, script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found, _ = facts(script, tmp_path, monkeypatch)
    assert found["nonfinite-inputs"]["present"]
    assert not found["nan-from-division"]["present"]
