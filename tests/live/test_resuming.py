"""A training that goes on from a checkpoint: what was restored is measured, what was not is named."""

from __future__ import annotations

from pathlib import Path

import pytest
from live_scripts import facts_of

SCRIPT = """
from torch.utils.data import DataLoader, TensorDataset
net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 2))
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: max(0.1, 1 - step / 100))
path, start = "FOLDER/last.pt", 0
x = torch.randn(400, 8); data = TensorDataset(x, (x[:, 0] > 0).long())
def steps(loader, most):
    for number, (rows, labels) in enumerate(loader):
        if number == most: break
        optimizer.zero_grad(); F.cross_entropy(net(rows), labels).backward(); optimizer.step(); scheduler.step()
def save(step):
    torch.save(dict(model=net.state_dict(), optimizer=optimizer.state_dict(), scheduler=scheduler.state_dict(),
                    step=step), path)
"""
FIRST = "steps(DataLoader(data, 8), 20); save(20)"
RESUME = """
state = torch.load(path); net.load_state_dict(state["model"])
{restore}
import itertools
steps(itertools.islice(DataLoader(data, 8), {skip}, None), 20); save(40)
"""
OPTIMIZER, SCHEDULER = 'optimizer.load_state_dict(state["optimizer"])', 'scheduler.load_state_dict(state["scheduler"])'
WHOLE = f"{OPTIMIZER}; {SCHEDULER}"
NAMES = ("optimizer-not-restored", "schedule-not-restored", "data-order-repeated")


@pytest.mark.parametrize(
    ("restore", "skip", "expected"),
    [
        (WHOLE, 20, ()),
        (SCHEDULER, 20, ("optimizer-not-restored",)),
        (OPTIMIZER, 20, ("schedule-not-restored",)),
        (WHOLE, 0, ("data-order-repeated",)),
    ],
    ids=["everything", "no optimiser", "no schedule", "from the first batch"],
)
def test_what_was_restored(restore: str, skip: int, expected: tuple[str, ...], tmp_path: Path) -> None:
    here = SCRIPT.replace("FOLDER", str(tmp_path))
    facts_of(here + FIRST, tmp_path / "a")
    more = RESUME.replace("{restore}", restore).replace("{skip}", str(skip))
    found = facts_of(here + more, tmp_path / "b")
    assert tuple(name for name in NAMES if found[name]["present"]) == expected


def test_a_checkpoint_as_a_start_is_no_resume(tmp_path: Path) -> None:
    here = SCRIPT.replace("FOLDER", str(tmp_path))
    facts_of(here + FIRST, tmp_path / "a")
    more = 'net.load_state_dict(torch.load(path)["model"]); steps(DataLoader(data, 8), 20)'
    assert not set(NAMES) & facts_of(here + more, tmp_path / "b").keys()


AGAIN = """
net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 2))
optimizer = torch.optim.Adam(net.parameters(), lr=RATE)
scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: max(0.1, 1 - step / 100))
state = torch.load(path); net.load_state_dict(state["model"])
{restore}
import itertools
steps(itertools.islice(DataLoader(data, 8), 20, None), 20)
"""


@pytest.mark.parametrize(
    ("restore", "rate", "expected"),
    [
        (WHOLE, "1e-3", ()),
        (SCHEDULER, "1e-3", ("optimizer-not-restored",)),
        ("pass", "1e-3", ("optimizer-not-restored", "schedule-not-restored")),
        ("pass", "1e-4", ()),
    ],
    ids=["everything", "no optimiser", "weights alone", "another training with its weights"],
)
def test_a_script_that_goes_on_from_what_it_saved(
    restore: str, rate: str, expected: tuple[str, ...], tmp_path: Path
) -> None:
    here = SCRIPT.replace("FOLDER", str(tmp_path)) + FIRST + AGAIN.replace("{restore}", restore).replace("RATE", rate)
    found = facts_of(here, tmp_path / "a")
    assert tuple(name for name in NAMES if name in found and found[name]["present"]) == expected


def test_a_rate_that_the_loop_sets_is_no_other_training(tmp_path: Path) -> None:
    here = (SCRIPT.replace("FOLDER", str(tmp_path)) + FIRST + AGAIN.replace("{restore}", "pass")).replace(
        "RATE", "1e-3"
    )
    here = here.replace("optimizer.zero_grad();", "optimizer.param_groups[0]['lr'] *= 0.9; optimizer.zero_grad();")
    here = "\n".join(line for line in here.splitlines() if "LambdaLR" not in line)
    here = here.replace("; scheduler.step()", "").replace("scheduler=scheduler.state_dict(),", "")
    assert facts_of(here, tmp_path / "a")["optimizer-not-restored"]["present"]


ACCELERATED = """
from accelerate import Accelerator
from torch.utils.data import DataLoader, TensorDataset
x = torch.randn(400, 8); data = TensorDataset(x, (x[:, 0] > 0).long())
net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 2))
accelerator = Accelerator(cpu=True)
net, optimizer = accelerator.prepare(net, torch.optim.Adam(net.parameters(), lr=1e-3))
def steps(most):
    {seed}
    for number, (rows, labels) in enumerate(accelerator.prepare(DataLoader(data, 8, shuffle=True))):
        if number == most: break
        optimizer.zero_grad(); accelerator.backward(F.cross_entropy(net(rows), labels)); optimizer.step()
steps(20); accelerator.save_state("FOLDER/{name}"); accelerator.load_state("FOLDER/{name}"); steps(20)
"""


@pytest.mark.parametrize(
    ("seed", "name", "repeated"),
    [
        ("torch.manual_seed(3)", "state", True),
        ("torch.manual_seed(3)", "step_20", True),
        ("torch.manual_seed(3)", "epoch_1", None),
        ("pass", "state", False),
    ],
    ids=["seeded again", "named by its step", "at the end of an epoch", "random numbers restored"],
)
def test_a_state_of_accelerate(seed: str, name: str, repeated: bool | None, tmp_path: Path) -> None:
    pytest.importorskip("accelerate")
    here = ACCELERATED.replace("FOLDER", str(tmp_path)).replace("{seed}", seed).replace("{name}", name)
    found = facts_of(here, tmp_path / "a")
    assert not found["optimizer-not-restored"]["present"]
    seen = found.get("data-order-repeated")
    assert (None if seen is None else seen["present"]) == repeated
