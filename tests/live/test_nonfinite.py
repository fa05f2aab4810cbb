"""The post-mortem of a NaN: every origin by its name."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from live_scripts import facts_of, present

LOOP = """
X, y = torch.randn(320, 6), torch.randint(0, 3, (320,))
{data}
net = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 3))
opt = torch.optim.SGD(net.parameters(), lr={lr})
for epoch in range(4):
    for i in range(0, 320, 32):
        out, t, x = net(X[i:i + 32]), y[i:i + 32], X[i:i + 32]
        loss = {loss}
        opt.zero_grad(); loss.backward(); opt.step()
"""
USUAL = "F.cross_entropy(out, t)"
ORIGINS = {"nonfinite-inputs", "nan-from-log", "nan-from-division", "nan-from-half-overflow", "nan-from-growth"}


def script(data: str = "pass", lr: float = 0.05, loss: str = USUAL) -> str:
    return LOOP.format(data=data, lr=lr, loss=loss)


@pytest.mark.parametrize("budget", [1.0, 0.0])
@pytest.mark.parametrize(
    ("training", "origin"),
    [
        (script(), None),
        (script(data="X[137, 2] = float('nan')"), "nonfinite-inputs"),
        (script(loss="-torch.log(out.softmax(1) * (t > 0).float().unsqueeze(1)).mean()"), "nan-from-log"),
        (
            script(data="y[64:96] = 0", loss="(F.cross_entropy(out, t, reduction='none') / (t > 0).any()).mean()"),
            "nan-from-division",
        ),
        (
            script(data="y[64:96] = 0", loss="(out.sum(1) * (t > 0)).sum() / ((t > 0) * out[:, 0]).sum()"),
            "nan-from-division",
        ),
        (script(data="y[64:96] = 0", loss="out[t > 0].pow(2).mean()"), "nan-from-division"),
        (script(loss="(out - out.detach()).pow(2).sum(1).sqrt().mean()"), "nan-from-division"),
        (script(loss="(out.half() * 1000).pow(2).mean()"), "nan-from-half-overflow"),
        (script(lr=30.0, loss="F.mse_loss(out, x[:, :3])"), "nan-from-growth"),
    ],
    ids=["healthy", "data", "log", "boolean divisor", "division", "empty mean", "sqrt at zero", "half", "growth"],
)
def test_origin(tmp_path: Path, training: str, origin: str | None, budget: float) -> None:
    facts = facts_of(training, tmp_path, budget)
    assert present(facts) & ORIGINS == ({origin} if origin else set())
    assert facts.keys() >= ORIGINS - {"nan-from-growth"}  # what is not the origin is ruled out


def test_finite_data_is_ruled_out(tmp_path: Path) -> None:
    facts = facts_of(script(loss="F.cross_entropy(out, t) + out.detach().mean() * float('nan')"), tmp_path, 0.0)
    assert not facts["nonfinite-inputs"]["present"]
    assert not facts["nan-from-half-overflow"]["present"]


def test_half_precision_is_ruled_out_only_where_there_is_none(tmp_path: Path) -> None:
    loss = "F.cross_entropy(out.half().float(), t) + out.detach().mean() * float('nan')"
    assert "nan-from-half-overflow" not in facts_of(script(loss=loss), tmp_path, 0.0)


def test_place_and_batch_of_bad_data(tmp_path: Path) -> None:
    fact = facts_of(script(data="X[137, 2] = float('nan')"), tmp_path, 0.0)["nonfinite-inputs"]
    assert "row 9, column 2" in fact["evidence"]
    assert "update 5" in fact["evidence"]
    saved = torch.load(tmp_path / "run.traindx" / "batches" / "step-5.pt", weights_only=True)
    assert saved["inputs"][0].isnan().sum() == 1
    assert saved["targets"][0].shape == (32,)


@pytest.mark.parametrize("budget", [1.0, 0.0])
def test_numbers_that_outgrow_their_range_within_one_pass(tmp_path: Path, budget: float) -> None:
    recurrence = """
    W = (torch.randn(8, 8) * {size}).requires_grad_(); o = torch.randn(8, 1, requires_grad=True)
    opt = torch.optim.SGD([W, o], lr=1e-4)
    for _ in range(6):
        h = torch.rand(16, 8)
        for _ in range(60):
            h = torch.relu(h @ W)
        loss = ((h @ o - 1) ** 2).mean()
        opt.zero_grad(); loss.backward(); opt.step()
    """
    facts = facts_of(recurrence.format(size=9.0), tmp_path, budget)
    assert present(facts) & ORIGINS == {"nan-from-growth"}
    assert "past the end of their range" in facts["nan-from-growth"]["evidence"]
