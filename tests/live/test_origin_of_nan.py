"""NaN whose origin the graph does not show: in a compiled part, in arithmetic on data, or before the model."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from live_scripts import facts_of, run

COMPILED = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.norm, self.second = nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Linear(8, 1)
    def forward(self, x):
        hidden = nn.functional.dropout(self.norm(self.first(x)), 0.1)
        scale = {operation}
        return self.second(hidden) * scale
net = Net(); part = torch.compile(net, backend="aot_eager"); opt = torch.optim.SGD(net.parameters(), 0.01)
data = torch.rand(64, 4) + 0.5; data[40, 2] = 0.0
for start in range(0, 64, 8):
    x = data[start:start + 8]; {rename}
    loss = ((part({given}) - 1) ** 2).mean(); opt.zero_grad(); loss.backward(); opt.step(); print(loss.item())
print([p.detach().sum().item() for p in net.parameters()], net.norm.running_mean.tolist(), net.norm.num_batches_tracked, torch.rand(1))
"""  # noqa: E501


def script(operation: str, given: str = "x", rename: str = "pass") -> str:
    return COMPILED.format(operation=operation, given=given, rename=rename)


@pytest.mark.parametrize(
    ("operation", "fact", "word"),
    [
        ("(1 / x[:, 2:3]).clamp(max=1e30) - 1 / x[:, 2:3]", "nan-from-division", "reciprocal"),
        ("torch.log(x[:, 2:3])", "nan-from-log", "log of values from 0"),
    ],
)
def test_the_operation_and_its_line_are_named(tmp_path: Path, operation: str, fact: str, word: str) -> None:
    facts = facts_of(script(operation), tmp_path)
    assert facts[fact]["present"]
    assert word in facts[fact]["evidence"]
    assert facts[fact]["where"].endswith("train.py:11")
    assert facts["nonfinite-activation"]["where"].endswith("train.py:11")


def test_memory_that_is_not_yet_written_is_not_taken_for_numbers(tmp_path: Path) -> None:
    """The mask of a dropout begins as such; torch fills it with NaN where results must repeat."""
    text = "torch.use_deterministic_algorithms(True)" + script("torch.log(x[:, 2:3])")
    try:
        facts = facts_of(text, tmp_path)
    finally:
        torch.use_deterministic_algorithms(False)
    assert "log of values from 0" in facts["nan-from-log"]["evidence"]


def test_where_it_cannot_be_run_again_the_part_is_named(tmp_path: Path) -> None:
    facts = facts_of(script("torch.log(x[:, 2:3])", given="x + 0.0"), tmp_path)
    assert "inside the compiled part" in facts["nonfinite-activation"]["evidence"]
    assert not facts.get("nan-from-log", {}).get("present")


def test_nothing_of_the_user_is_touched(tmp_path: Path) -> None:
    text = script("torch.log(x[:, 2:3])")
    assert run(text, None) == run(text, tmp_path / "r.traindx")


def test_arithmetic_on_data_that_no_gradient_goes_through(tmp_path: Path) -> None:
    facts = facts_of(script("torch.log(x[:, 2:3])").replace('torch.compile(net, backend="aot_eager")', "net"), tmp_path)
    assert facts.get("nan-from-log", {}).get("present"), {
        k: v.get("evidence") for k, v in facts.items() if k[:3] in ("nan", "non")
    }
    assert facts["nan-from-log"]["where"].endswith("train.py:11")


PREPARED = """
data = torch.rand(64, 4); data[24:32, 1] = 0.5; {spoil}
net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1)); opt = torch.optim.SGD(net.parameters(), 0.01)
loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(data, torch.rand(64, 1)), batch_size=8)
for x, y in loader:
    x = {prepared}
    loss = F.mse_loss(net(x), y); opt.zero_grad(); loss.backward(); opt.step()
"""


def test_data_that_the_users_own_code_spoils(tmp_path: Path) -> None:
    facts = facts_of(PREPARED.format(prepared="(x - x.mean(0)) / x.std(0)", spoil="pass"), tmp_path)
    assert facts["nan-from-division"]["present"]
    assert "the code between loader and model made it" in facts["nan-from-division"]["evidence"]
    assert not facts["nonfinite-inputs"]["present"]


def test_data_that_comes_spoilt(tmp_path: Path) -> None:
    facts = facts_of(PREPARED.format(prepared="x * 2", spoil="data[27, 2] = float('nan')"), tmp_path)
    assert facts["nonfinite-inputs"]["present"]
    assert not facts["nan-from-division"]["present"]
