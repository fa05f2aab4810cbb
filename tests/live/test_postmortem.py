"""What is kept of a batch that went wrong, and where in the user's code it went wrong."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from live_scripts import facts_of, present

from traindx.readers.find import find_runs
from traindx.run import Run
from traindx.signals import Signals
from traindx.symptoms import symptoms

MODEL = """
import torch, torch.nn as nn, torch.nn.functional as F
torch.manual_seed(0); torch.set_num_threads(1)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc, self.head = nn.Linear(6, 16, bias=False), nn.Linear(16, 3)
    def forward(self, x):
        h = self.enc(x)
        {operation}
        return self.head(h)
X, y = torch.randn(320, 6), torch.randint(0, 3, (320,))
X[100] = 0.0
net = Net()
opt = torch.optim.SGD(net.parameters(), lr=0.05)
for i in range(0, 320, 32):
    x, t = X[i:i + 32], y[i:i + 32]
    loss = F.cross_entropy(net(x), t)
    opt.zero_grad(); loss.backward(); opt.step()
"""


def recorded(folder: Path, source: str) -> Run:
    """A script from a file, as `traindx run` records it: only then its lines can be read."""
    script, recording = folder / "train.py", folder / "run.traindx"
    script.write_text(source)
    start = (
        f"from pathlib import Path; from traindx.live.host.recorder import start; import runpy; "
        f"start(Path({str(recording)!r})); "
    )
    environment = {**os.environ, "TRAINDX_DEBUG": "1", "OMP_NUM_THREADS": "1"}
    subprocess.run(
        [sys.executable, "-c", f"{start}runpy.run_path({str(script)!r}, run_name='__main__')"],
        check=True,
        env=environment,
    )
    return find_runs([recording])[0]


@pytest.mark.parametrize(
    ("operation", "identifier", "said"),
    [
        ("h = h / h.norm(dim=1, keepdim=True)", "nan-from-division",
         ("1 of 32 divisors", "after layer enc", "update 4")),
        ("h = torch.cat([h[:, :15], (h * h).sum(1, keepdim=True).sqrt()], 1)", "nan-from-division",
         ("gradients of update 4", "square root of zero (1 of 32")),
    ],
    ids=["in the loss", "in the gradient alone"],
)  # fmt: skip
def test_line_layer_range_and_batch(tmp_path: Path, operation: str, identifier: str, said: tuple[str, ...]) -> None:
    run = recorded(tmp_path, MODEL.format(operation=operation))
    fact = symptoms()[identifier].detect(Signals(run))
    assert fact.state == "present"
    assert all(part in fact.evidence for part in (*said, "batches/step-4.pt")), fact.evidence
    assert fact.where is not None
    assert fact.where.endswith("train.py:10")
    saved = torch.load(tmp_path / "run.traindx" / "batches" / "step-4.pt", weights_only=True)
    assert bool((saved["variables"]["x"][4] == 0).all())


OWN = """
class Broken(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x): return x.clone()
    @staticmethod
    def backward(ctx, g): return g / 0.0
enc, head = nn.Linear(6, 8), nn.Linear(8, 3)
opt = torch.optim.SGD([*enc.parameters(), *head.parameters()], lr=0.1)
for _ in range(2):
    loss = F.cross_entropy(head(Broken.apply(enc(torch.randn(32, 6)))), torch.randint(0, 3, (32,)))
    opt.zero_grad(); loss.backward(); opt.step()
"""


def test_backward_of_a_custom_function(tmp_path: Path) -> None:
    fact = facts_of(OWN, tmp_path)["nonfinite-gradient"]
    assert fact["present"]
    assert "the backward of Broken" in fact["evidence"]


LOADED = """
from torch.utils.data import DataLoader, TensorDataset
X = torch.randn(2000, 8); y = X[:, :1] * 0.5
{spoil}
net = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 1)); opt = torch.optim.SGD(net.parameters(), lr=0.05)
for epoch in range(2):
    for x, t in DataLoader(TensorDataset(X, y), 32, shuffle=True):
        loss = F.mse_loss(net(x), t); opt.zero_grad(); loss.backward(); opt.step()
"""


def test_spoilt_sample_by_its_number_in_the_data_set(tmp_path: Path) -> None:
    fact = facts_of(LOADED.format(spoil="X[777, 3] = float('nan')"), tmp_path)["nonfinite-inputs"]
    assert "sample 777 of the data set" in fact["evidence"]


def test_batch_behind_a_spike(tmp_path: Path) -> None:
    fact = facts_of(LOADED.format(spoil="X[777] *= 1e4; y[777] = 50"), tmp_path)["outlier-batch"]
    assert "sample 777 of the data set" in fact["evidence"]
    (kept,) = sorted((tmp_path / "run.traindx" / "batches").glob("spike-*.pt"))[:1]
    saved = torch.load(kept, weights_only=True)
    assert saved["indices"][int(saved["batch"][0].abs().amax(1).argmax())] == 777


def test_nothing_is_kept_of_a_calm_training(tmp_path: Path) -> None:
    assert not present(facts_of(LOADED.format(spoil=""), tmp_path)) & {"outlier-batch", "nonfinite-inputs"}
    assert not (tmp_path / "run.traindx" / "batches").exists()
