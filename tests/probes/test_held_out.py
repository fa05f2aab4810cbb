"""Held-out data and the script's own pace: seen while it goes on for a moment, read again where a loader has them, and
compared."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from probing import captured, facts  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402
from torch.utils.data import DataLoader, Dataset, TensorDataset  # noqa: E402

from traindx.probes.base import Deadline  # noqa: E402
from traindx.probes.given import subject_of  # noqa: E402
from traindx.probes.kinds import probes  # noqa: E402
from traindx.probes.overlap import seen_in_training  # noqa: E402
from traindx.probes.runner import run_probe  # noqa: E402

SIZE = 400


def samples(seed: int, scale: float = 1.0) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(SIZE, 6, generator=generator)
    return scale * x, (x[:, 0] > 0).long()


def net() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 2))


def train(model: nn.Module, evaluate_every: int, scale: float = 1.0, pause: float = 0.0) -> None:
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    (x, y), (held, labels) = samples(0), samples(1, scale)
    for step in range(60):
        rows = slice(20 * step % SIZE, 20 * step % SIZE + 20)
        optimizer.zero_grad()
        F.cross_entropy(model(x[rows]), y[rows]).backward()
        optimizer.step()
        time.sleep(pause)
        if (step + 1) % evaluate_every == 0:
            model.eval()
            with torch.no_grad():
                for k in range(0, SIZE, 100):
                    F.cross_entropy(model(held[k : k + 100]), labels[k : k + 100])
            model.train()


@pytest.mark.parametrize("every", [3, 25])
def test_an_evaluation_is_seen_when_it_comes_soon_or_after_a_while(every: int, tmp_path: Path) -> None:
    model = net()
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    (subject,) = captured(lambda: train(model, every), tmp_path, evaluation=True)
    assert len(subject.steps) == 8
    assert [step.size for step in subject.held_out] == [100] * 4
    assert torch.equal(subject.held_out[1].data[0], samples(1)[0][100:200])
    with torch.no_grad(), subject.mode(False):
        for parameter, value in model.state_dict().items():
            value.copy_(before[parameter])
        expected = F.cross_entropy(model(samples(1)[0][:100]), samples(1)[1][:100])
        assert torch.equal(subject.loss(subject.held_out[0]), expected)


def test_the_scale_of_held_out_inputs_is_compared(tmp_path: Path) -> None:
    for scale, differs in ((1.0, False), (50.0, True)):
        (subject,) = captured(lambda scale=scale: train(net(), 5, scale), tmp_path / str(scale), evaluation=True)
        reading = run_probe(subject, probes()["sanity"], 10)
        assert facts(reading)["val-inputs-differ"].present is differs
        assert "held-out input" in [row[0] for row in reading.tables[0].rows]


def test_batches_of_another_loader_take_the_place_of_the_training_batch(tmp_path: Path) -> None:
    model = net()
    held_out = DataLoader(TensorDataset(*samples(1)), batch_size=50)

    def loop() -> None:
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        for x, y in DataLoader(TensorDataset(*samples(0)), batch_size=20, shuffle=True):
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()

    (subject,) = captured(loop, tmp_path, evaluation=True)
    assert held_out in subject.held_out_loaders
    assert [step.size for step in subject.held_out] == [20] * 4
    known = {tuple(row) for row in samples(1)[0].tolist()}
    assert all(tuple(row) in known for row in subject.held_out[0].data[0].tolist())
    noise, state = torch.get_rng_state(), {k: v.clone() for k, v in model.state_dict().items()}
    reading = run_probe(subject, probes()["sanity"], 10)
    assert torch.equal(noise, torch.get_rng_state())
    assert all(torch.equal(value, model.state_dict()[name]) for name, value in state.items())
    assert not facts(reading)["validation-seen-in-training"].present


class Shaken(Dataset[Any]):
    """Every reading of a sample is another one."""

    def __len__(self) -> int:
        return SIZE

    def __getitem__(self, index: int) -> Any:
        return samples(0)[0][index] + torch.rand(6), 0


@pytest.mark.parametrize(
    ("training", "held_out", "present", "told"),
    [
        (lambda: TensorDataset(*samples(0)), lambda: TensorDataset(*samples(1)), False, "0 of 400"),
        (lambda: TensorDataset(*samples(0)), lambda: TensorDataset(samples(0)[0][:200], samples(0)[1][:200]), True,
         "200 of 200"),
        (
            lambda: TensorDataset(*samples(0)),
            lambda: TensorDataset(torch.cat([samples(0)[0][:150], samples(1)[0][:250]]), torch.zeros(400).long()),
            True,
            "150 of 400",
        ),
        (lambda: TensorDataset(*samples(0)), lambda: TensorDataset(*samples(0)), None, "gives the training data"),
        (lambda: TensorDataset(samples(0)[0].sign(), samples(0)[1]),
         lambda: TensorDataset(samples(1)[0].sign(), samples(1)[1]), None, "alike"),
        (Shaken, lambda: TensorDataset(*samples(0)), None, "each time"),
    ],
)  # fmt: skip
def test_samples_in_both_sets_are_found(training: Any, held_out: Any, present: bool | None, told: str) -> None:
    loaders = [DataLoader(make(), batch_size=32) for make in (training, held_out)]
    subject = subject_of(net(), loaders[0], F.cross_entropy, validation=loaders[1])
    answer, _ = seen_in_training(subject, Deadline(5))
    assert answer.problem is present
    assert told in answer.sentence


def test_the_script_is_timed_beside_its_step(tmp_path: Path) -> None:
    (subject,) = captured(lambda: train(net(), 100, pause=0.01), tmp_path, pace=True)
    assert subject.pace is not None
    assert len(subject.pace.seconds) >= 3
    reading = run_probe(subject, probes()["speed"], 6)
    rows = {row[0]: row[1] for row in reading.tables[0].rows}
    assert 8 < rows["of it elsewhere"] <= rows["the script's own step"]
    assert "goes elsewhere" in reading.summary


def test_numbers_read_between_steps_are_placed(tmp_path: Path) -> None:
    def loop() -> None:
        model, (x, y) = net(), samples(0)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        for _ in range(30):
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            loss.item()
            float(loss)

    (subject,) = captured(loop, tmp_path, pace=True)
    assert subject.pace is not None
    assert {place.rpartition(" ")[2]: round(count) for place, count in subject.pace.reads} == {
        "item()": 1,
        "float()": 1,
    }
    assert all("test_held_out.py:" in place for place, _ in subject.pace.reads)
