"""What the callbacks share: one recorder a process, names that are kept, and nothing that starts by itself."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest
import torch

import traindx
from traindx.errors import TraindxError
from traindx.live.integrations import asked
from traindx.live.integrations.session import Session
from traindx.live.integrations.standalone import Recording
from traindx.readers.find import find_runs


def train(steps: int = 60) -> None:
    torch.manual_seed(0)
    model = torch.nn.Linear(4, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x = torch.randn(32, 4)
    for _ in range(steps):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x), (x.sum(1) > 0).long()).backward()
        optimizer.step()


def test_a_watch_inside_another_adds_to_it_and_leaves_the_end_to_it(tmp_path: Path) -> None:
    with traindx.watch(to=tmp_path / "outer.traindx") as outer:
        with traindx.watch(to=tmp_path / "inner.traindx") as inner:
            train()
            inner.log({"val_accuracy": 0.5, "loss": 1.0, "learning_rate": 3.0, "note": "text", "flag": True})
            inner.config({"kind": "toy", "k": 2, "nested": {"dropout": 0.1}})
        assert inner.folder == outer.folder
        outer.log({"val_accuracy": 0.7})
    assert not (tmp_path / "inner.traindx").exists()
    (run,) = find_runs([tmp_path / "outer.traindx"])
    assert len(run.series["train_loss"]) == 60  # each update once
    assert list(run.series["val_accuracy"].values) == [0.7]  # at one step the last word counts
    assert not {"loss", "learning_rate", "note", "flag"} & set(run.series)
    assert run.config["settings.kind"] == "toy"
    assert run.config["settings.nested.dropout"] == 0.1


def test_gradients_are_seen_after_the_closure_that_makes_them(tmp_path: Path) -> None:
    torch.manual_seed(0)
    weight = torch.nn.Parameter(torch.tensor([3.0]))
    optimizer = torch.optim.SGD([weight], lr=0.1)
    expected = []

    def closure() -> torch.Tensor:
        optimizer.zero_grad()
        loss = (weight**2).sum()
        loss.backward()
        expected.append(abs(2 * float(weight.detach())))
        return loss

    with traindx.watch(to=tmp_path / "w.traindx"):
        for _ in range(3):
            optimizer.step(closure)
    (run,) = find_runs([tmp_path / "w.traindx"])
    assert run.series["grad_norm"].values[:3] == pytest.approx(expected)


def test_a_second_training_gets_a_recording_of_its_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    session = Session("toy", tmp_path / "toy.traindx", 0.01, report=True)
    with pytest.raises(TraindxError, match="no training has begun"):
        _ = session.diagnosis
    for folder in ("toy.traindx", "toy-2.traindx"):
        session.begin()
        train()
        session.end()
        session.end()
        assert session.folder == tmp_path / folder
        assert 59 <= session.diagnosis.run.steps <= 60
    assert capsys.readouterr().err.count("recorded in") == 2


def test_nothing_comes_unasked(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TRAINDX", "TRAINDX_RECORD"):
        monkeypatch.delenv(name, raising=False)
    assert not asked.asked()
    assert asked.lightning_callbacks() == []
    monkeypatch.setenv("TRAINDX", "0")
    assert not asked.asked()
    monkeypatch.setenv("TRAINDX", "1")
    assert asked.asked()


@pytest.mark.parametrize("group", ["lightning.pytorch.callbacks_factory", "pytorch_lightning.callbacks_factory"])
def test_lightning_finds_the_callback_and_finding_it_costs_no_framework(group: str) -> None:
    found = entry_points(group=group, name="traindx")
    if not found:
        pytest.skip("installed before the entry points were there")
    (entry,) = found
    module, _, function = entry.value.partition(":")
    code = f"import sys, {module} as m; assert m.{function}() == []; print(json.dumps(sorted(sys.modules)))"
    out = subprocess.run(
        [sys.executable, "-c", f"import json; {code}"], capture_output=True, text=True, check=True, env={"TRAINDX": ""}
    )
    assert not {"torch", "numpy", "lightning", "traindx.engine"} & set(json.loads(out.stdout))


def test_a_recording_without_torch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("TRAINDX_RECORD", raising=False)
    recording = Recording("toy", tmp_path / "toy.traindx", 0.01, report=True)
    hook = sys.excepthook
    recording.begin(jax="0")
    recording.config({"lr": 0.1})
    for step in range(100):
        recording.row(step, {"train_loss": 1.0 / (step + 1)})
    sys.excepthook(ZeroDivisionError, ZeroDivisionError("oh"), None)
    recording.end(finished=False)
    assert sys.excepthook is hook
    assert "recorded in" in capsys.readouterr().err
    (run,) = find_runs([tmp_path / "toy.traindx"])
    assert len(run.series["train_loss"]) == 100
    assert [event.kind for event in run.events] == ["traceback"]
    assert recording.diagnosis.run.config["settings.lr"] == 0.1


def test_under_traindx_run_it_takes_the_place_that_waits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TRAINDX_RECORD", str(tmp_path / "run.traindx"))
    for folder in ("run.traindx", "own.traindx"):  # the second training finds the place taken
        recording = Recording("toy", tmp_path / "own.traindx", 0.01, report=True)
        recording.begin()
        recording.row(0, {"train_loss": 1.0})
        recording.end()
        assert recording.folder == tmp_path / folder
    assert capsys.readouterr().err.count("recorded in") == 1  # the launcher shows the other


def test_a_place_that_cannot_be_written_costs_a_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    recording = Recording("toy", tmp_path / "file" / "below", 0.01, report=True)
    recording.begin()
    recording.row(0, {"train_loss": 1.0})
    recording.end()
    assert "not recording" in capsys.readouterr().err
