"""L-BFGS, which evaluates a closure many times for one update."""

from __future__ import annotations

from pathlib import Path

from live_scripts import facts_of

from traindx.measurements import TrainingEnd
from traindx.readers.find import find_runs

SCRIPT = """
import torch

torch.manual_seed(0)
x = torch.randn(64, 4)
y = x @ torch.tensor([[1.0], [2.0], [-1.0], [0.5]])
calls = 0

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))

    def forward(self, x):
        return self.inner(x)

model = Net()
optimizer = torch.optim.LBFGS(model.parameters(), lr=0.5)
for step in range(6):
    def closure():
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(x), y)
        loss.backward()
        return loss
    optimizer.step(closure)
"""


def test_only_the_first_evaluation_of_an_update_is_looked_at(tmp_path: Path) -> None:
    found = facts_of(SCRIPT, tmp_path, ended=True)
    (run,) = find_runs([tmp_path / "run.traindx"])
    (end,) = run.measured[0].all(TrainingEnd)
    assert end.updates == 6
    assert end.closures_again > 30
    assert len(end.losses) == 6
    assert found.get("few-updates", {}).get("present") is not True
