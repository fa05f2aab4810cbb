"""Trials that begin with a kept state: the loop goes on as if it had never stopped."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")

from traindx.cli import main
from traindx.errors import TraindxError
from traindx.live.recording import states
from traindx.trials.job import Job, perform
from traindx.trials.session import arm_of
from traindx.trials.workspace import Project

# whatever a state must hold: two optimisers, momentum, schedule, running statistics, dropout, shuffling, gradients that
# are not cleared, an average of the weights that the script keeps itself, random numbers of numpy and Python
SCRIPT = """\
import copy, random
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(128, 4)
loader = DataLoader(TensorDataset(x, x.sum(1, keepdim=True)), batch_size=16, shuffle=True)
model = nn.Sequential(nn.Linear(4, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.2), nn.Linear(16, 1))
average = copy.deepcopy(model)
opt = torch.optim.Adam(model[:4].parameters(), lr=0.01)
last = torch.optim.SGD(model[4].parameters(), lr=0.01, momentum=0.9)
schedule = torch.optim.lr_scheduler.LambdaLR(opt, lambda step: 0.97**step)
step = 0
for epoch in range(8):
    for a, b in loader:
        noise = 0.01 * np.random.randn() + 0.01 * random.random()
        loss = nn.functional.mse_loss(model(a) + noise, b)
        loss.backward()
        opt.step()
        last.step()
        schedule.step()
        with torch.no_grad():
            for old, new in zip(average.parameters(), model.parameters()):
                old.lerp_(new, 0.1)
        if step % 7 == 0:
            model.zero_grad()
        step += 1
        print(step, loss.item(), sum(p.sum().item() for p in average.parameters()), opt.param_groups[0]["lr"])
"""
KEPT, STEPS = 21, 8  # of two updates each


def test_the_losses_after_a_kept_state_are_those_of_the_run_it_was_kept_in(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "train.py").write_text(SCRIPT)
    project = Project(tmp_path / "project", tmp_path / "project")
    command = (sys.executable, "train.py")
    state = tmp_path / "kept" / "state.pt"
    whole = perform(Job(command, project, steps=2 * (KEPT + STEPS + 1), keep=(2 * KEPT, str(state))))
    rest = perform(Job(command, project, steps=2 * (STEPS + 1), state=str(state)))
    assert _lines(rest.said, KEPT) == _lines(whole.said, KEPT)
    assert len(_lines(rest.said, KEPT)) == STEPS
    arm = arm_of(rest)
    assert arm.measured is not None
    assert arm.measured.steps == 2 * (STEPS + 1)
    assert arm.measured.aligned
    slower = perform(Job(command, project, steps=2 * (STEPS + 1), state=str(state), settings=("lr=x0.001",)))
    first, second = (_lines(one, KEPT)[0].split()[1] for one in (slower.said, whole.said))
    assert first == second  # the first loss comes before the first changed update
    assert _lines(slower.said, KEPT)[2] != _lines(whole.said, KEPT)[2]
    other = perform(Job(command, project, steps=2 * (STEPS + 1), state=str(state), seed=1))
    assert _lines(other.said, KEPT)[-1:] != _lines(rest.said, KEPT)[-1:]


def _lines(said: str, after: int) -> list[str]:
    lines = [line for line in said.splitlines() if line[:1].isdigit()]
    return [line for line in lines if int(line.split()[0]) > after]


def test_a_fix_from_a_recording_with_a_state(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text(SCRIPT.replace("step % 7 == 0", "True").replace("0.2", "0.0"))
    assert main(["run", "-q", "--checkpoint", "40", "--to", "run.traindx", "train.py"]) == 0
    assert (tmp_path / "run.traindx" / "state.pt").exists()
    assert main(["trial", "-q", "--set", "lr=x0.0001", "--from", "run.traindx", "--seeds", "2", "train.py"]) == 0
    page = capsys.readouterr().out
    assert "Trials began with the state of a later update" in page
    assert main(["trial", "-q", "--set", "init=default", "--from", "run.traindx", "train.py"]) == 2
    assert "needs a training from its start" in capsys.readouterr().err
    assert main(["trial", "-q", "--set", "lr=x0.1", "--from-step", "500", "train.py"]) == 2
    assert "No state could be kept after update 500" in capsys.readouterr().err


def test_a_file_that_is_no_state_is_refused_unread(tmp_path: Path) -> None:
    class Evil:
        def __reduce__(self) -> tuple[object, ...]:
            return Path.touch, (tmp_path / "executed",)

    import torch

    torch.save({"schema": states.SCHEMA, "step": Evil()}, tmp_path / "state.pt")
    with pytest.raises(TraindxError, match="cannot be read"):
        states.load(tmp_path / "state.pt")
    assert not (tmp_path / "executed").exists()
