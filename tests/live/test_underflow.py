"""Gradients that are too small for float16."""

from __future__ import annotations

from pathlib import Path

import pytest
from live_scripts import facts_of

SCRIPT = """
import torch

torch.manual_seed(0)
x = torch.randn(256, 16)
y = (x[:, :4].sum(1) > 0).long()
model = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.ReLU(), torch.nn.Linear(32, 2)).half()
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for step in range(8):
    loss = torch.nn.functional.cross_entropy(model(x[step * 32 : step * 32 + 32].half()), y[step * 32 : step * 32 + 32])
    optimizer.zero_grad()
    (loss * SCALE).backward()
    optimizer.step()
"""


@pytest.mark.parametrize(("scale", "lost"), [("1e-4", True), ("1.0", False)])
def test_a_loss_too_small_for_half_precision_is_seen(tmp_path: Path, scale: str, lost: bool) -> None:
    assert facts_of(SCRIPT.replace("SCALE", scale), tmp_path)["gradients-underflow"]["present"] is lost


AUTOCAST = """
import torch

torch.manual_seed(0)
x = torch.randn(256, 16)
y = (x[:, :4].sum(1) > 0).long()
model = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.ReLU(), torch.nn.Linear(32, 2))
optimizer, scaler = torch.optim.SGD(model.parameters(), 0.1), torch.amp.GradScaler("cpu", enabled=SCALED)
for step in range(8):
    with torch.autocast("cpu", dtype=torch.float16):
        loss = torch.nn.functional.cross_entropy(model(x[step * 32 : step * 32 + 32]), y[step * 32 : step * 32 + 32])
    optimizer.zero_grad()
    scaler.scale(loss / 1e4).backward()
    scaler.step(optimizer)
    scaler.update()
"""


@pytest.mark.parametrize("scaled", [True, False])
def test_float32_gradients_that_were_float16_are_known(tmp_path: Path, scaled: bool) -> None:
    """Under autocast weights and gradients are float32; what was lost on the way does not come back."""
    found = facts_of(AUTOCAST.replace("SCALED", str(scaled)), tmp_path).get("gradients-underflow", {"present": False})
    assert found["present"] is not scaled
