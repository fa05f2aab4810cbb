"""`assert_trains` and its kin: healthy models pass, broken ones fail with the reason, and pytest itself is left
alone."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest
import torch
from torch import nn

import traindx
from traindx.testing import assert_gradients_reach, assert_no_leak, assert_overfits, assert_trains

X, Y = torch.randn(32, 6, generator=torch.Generator().manual_seed(0)), torch.arange(32) % 3


class TwoHeads(nn.Module):
    """A model whose second head the loss never sees."""

    def __init__(self) -> None:
        super().__init__()
        self.body, self.head, self.aux = nn.Linear(6, 32), nn.Linear(32, 3), nn.Linear(32, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.body(x).relu())


def healthy() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(6, 64), nn.ReLU(), nn.Linear(64, 3))


class Mixed(nn.Module):
    """Adds the mean over the batch: every sample sees the others."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = healthy()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.inner(x + x.mean(0))


def test_a_healthy_model_passes_and_is_left_as_it_was() -> None:
    model = healthy()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    before = [parameter.clone() for parameter in model.parameters()]
    state = torch.get_rng_state()
    assert traindx.assert_trains is assert_trains
    probing = assert_trains(model, (X, Y), nn.functional.cross_entropy, optimizer, validation=(X + 1, Y))
    assert "sanity" in probing.readings
    assert all(torch.equal(old, new) for old, new in zip(before, model.parameters(), strict=True))
    assert torch.equal(state, torch.get_rng_state())


def test_what_does_not_learn_fails_with_the_reason() -> None:
    model = nn.Sequential(nn.Linear(6, 3), nn.Softmax(dim=0), nn.Linear(3, 3))
    for parameter in model[2].parameters():
        nn.init.zeros_(parameter)
    with pytest.raises(AssertionError, match=r"the gradient is zero in 0\.weight, 0\.bias"):
        assert_trains(model, (X, Y), nn.functional.cross_entropy, seconds=6)
    model = healthy()
    slow = torch.optim.SGD(model.parameters(), lr=1e-9)
    with pytest.raises(
        AssertionError, match=r"batch-barely-moves|batch-not-learned"
    ):  # as far as 8 s go on a busy machine
        assert_overfits(model, (X, Y), nn.functional.cross_entropy, slow, seconds=8)


def test_gradients_must_reach_every_parameter_that_is_meant_to_train() -> None:
    with pytest.raises(AssertionError, match=r"no gradient reaches aux.weight, aux.bias \(2 of 6"):
        assert_gradients_reach(TwoHeads(), (X, Y), nn.functional.cross_entropy)
    assert_gradients_reach(TwoHeads(), (X, Y), nn.functional.cross_entropy, unused=["aux.*"])


def test_leaks_between_samples_and_between_sets_fail() -> None:
    with pytest.raises(AssertionError, match="samples-mixed"):
        assert_trains(Mixed(), (X, Y), nn.functional.cross_entropy, seconds=8)
    data = torch.utils.data.TensorDataset(X, Y)
    loader = torch.utils.data.DataLoader(data, batch_size=8)
    with pytest.raises(AssertionError, match="5 of 10 validation samples are in the training data"):
        assert_no_leak(loader, (torch.cat([X[:5], X[:5] + 1]), Y[:10]))
    assert_no_leak(data, [{"x": X + 1, "y": Y}])


SUITE = """
def test_model(assert_trains, assert_overfits, assert_gradients_reach, assert_no_leak):
    import torch
    model = torch.nn.Linear(4, 2)
    assert_gradients_reach(model, (torch.randn(8, 4), torch.randint(0, 2, (8,))), torch.nn.functional.cross_entropy)
"""


def test_pytest_offers_the_fixtures_and_loads_nothing_for_others(tmp_path: Path) -> None:
    plain, model = tmp_path / "test_plain.py", tmp_path / "test_model.py"
    plain.write_text(
        "import sys\ndef test_nothing():\n    assert 'torch' not in sys.modules and 'numpy' not in sys.modules\n"
    )
    model.write_text(SUITE)
    known = "traindx" in {entry.name for entry in entry_points(group="pytest11")}
    plugin = [] if known else ["-p", "traindx.pytest_plugin"]
    command = [sys.executable, "-m", "pytest", "-q", *plugin, str(plain), str(model)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout
    assert "2 passed" in done.stdout
