"""`traindx.probe` from Python: every probe runs, nothing changes, and what was measured ends in a diagnosis."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402
from torch.nn.modules import module as torch_module  # noqa: E402

import traindx  # noqa: E402
from traindx.errors import TraindxError  # noqa: E402
from traindx.readers.find import find_runs  # noqa: E402
from traindx.reading import Reading  # noqa: E402


class Net(nn.Module):
    """Convolution, batch norm, dropout, a frozen layer, and one that is in evaluation mode."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.norm, self.drop = nn.Conv2d(1, 8, 3), nn.BatchNorm2d(8), nn.Dropout(0.3)
        self.frozen = nn.Linear(8, 8).requires_grad_(False)
        self.head = nn.Linear(8, 4)
        self.calls = 0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        hidden = self.drop(F.relu(self.norm(self.conv(x)))).mean((2, 3))
        return self.head(self.frozen(hidden).tanh())


def picture(model: nn.Module, optimizer: torch.optim.Optimizer) -> dict[str, Any]:
    """Everything that must not change, as bytes."""
    return {
        "tensors": {name: tensor.clone() for name, tensor in model.state_dict().items()},
        "grads": {name: None if p.grad is None else p.grad.clone() for name, p in model.named_parameters()},
        "trained": [p.requires_grad for p in model.parameters()],
        "modes": [module.training for module in model.modules()],
        "hooks": [len(module._forward_hooks) for module in model.modules()],
        "calls": model.calls,
        "state": [
            {key: value.clone() if isinstance(value, torch.Tensor) else value for key, value in state.items()}
            for state in optimizer.state.values()
        ],
        "groups": [{key: value for key, value in group.items() if key != "params"} for group in optimizer.param_groups],
        "torch": torch.get_rng_state(),
        "numpy": np.random.get_state()[1].copy(),
        "python": random.getstate(),
    }


def assert_same(one: Any, two: Any) -> None:
    if isinstance(one, dict):
        assert one.keys() == two.keys()
        for key in one:
            assert_same(one[key], two[key])
    elif isinstance(one, list | tuple):
        assert len(one) == len(two)
        for first, second in zip(one, two, strict=True):
            assert_same(first, second)
    elif isinstance(one, torch.Tensor):
        assert torch.equal(one, two)
    elif isinstance(one, np.ndarray):
        assert (one == two).all()
    else:
        assert one == two


@pytest.fixture(scope="module")
def data() -> list[tuple[torch.Tensor, torch.Tensor]]:
    generator = torch.Generator().manual_seed(0)
    return [
        (torch.randn(16, 1, 8, 8, generator=generator), torch.randint(4, (16,), generator=generator)) for _ in range(4)
    ]


@pytest.mark.parametrize("kind", ["adam", "sgd"])
def test_nothing_changes(kind: str, data: list[tuple[torch.Tensor, torch.Tensor]], tmp_path: Path) -> None:
    torch.manual_seed(0)
    np.random.seed(0)
    random.seed(0)
    model = Net()
    trained = [p for p in model.parameters() if p.requires_grad]
    optimizer = (
        torch.optim.Adam(trained, 1e-3)
        if kind == "adam"
        else torch.optim.SGD(trained, 0.05, momentum=0.9, nesterov=True)
    )
    for x, y in data[:2]:
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
    model.drop.eval()
    waiting = F.cross_entropy(model(data[2][0]), data[2][1])  # a graph of the user's that has not had its backward yet
    before = picture(model, optimizer)
    buffers = [p.data_ptr() for p in model.parameters()] + [
        s["exp_avg" if kind == "adam" else "momentum_buffer"].data_ptr() for s in optimizer.state.values()
    ]

    result = traindx.probe(model, data, nn.CrossEntropyLoss(), optimizer, seconds=6)

    assert_same(before, picture(model, optimizer))
    assert buffers == [p.data_ptr() for p in model.parameters()] + [
        s["exp_avg" if kind == "adam" else "momentum_buffer"].data_ptr() for s in optimizer.state.values()
    ]
    waiting.backward()
    assert {"gradients", "activations", "sanity"} <= set(result.readings)
    assert not any("error" in reason for reading in result.readings.values() for reason in reading.unknown)
    assert result.diagnosis.verdict != "unhealthy"
    for reading in result.readings.values():
        assert Reading.from_json(reading.to_json()).probe == reading.probe
    assert "gradients" in str(result)
    assert result.plot(tmp_path / "probes.png").read_bytes().startswith(b"\x89PNG")


class Tokens(nn.Module):
    """A small transformer that computes its own loss, as large language models do; tied weights."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(12, 16)
        layer = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(16, 12, bias=False)
        self.head.weight = self.embed.weight

    def forward(self, tokens: torch.Tensor, labels: torch.Tensor) -> dict[str, torch.Tensor]:
        mask = nn.Transformer.generate_square_subsequent_mask(tokens.shape[1])
        scores = self.head(self.encoder(self.embed(tokens), mask=mask, is_causal=True))
        return {"loss": F.cross_entropy(scores.flatten(0, 1), labels.flatten()), "scores": scores}


def test_a_model_with_its_own_loss_and_shared_weights() -> None:
    torch.manual_seed(0)
    text = torch.randint(12, (8, 11))
    model = Tokens()
    batch = {"tokens": text[:, :-1].contiguous(), "labels": text[:, 1:].contiguous()}
    result = traindx.probe(model, batch, optimizer=torch.optim.AdamW(model.parameters(), 1e-3), seconds=6)
    future = next(fact for fact in result.readings["sanity"].facts if fact.id == "sees-the-future")
    assert not future.present
    assert [row[0] for row in result.readings["gradients"].tables[0].rows].count("embed.weight") == 1
    assert result.diagnosis.verdict != "unhealthy"


def test_a_loss_function_may_take_the_model(data: list[tuple[torch.Tensor, torch.Tensor]]) -> None:
    def loss(model: nn.Module, batch: Any) -> torch.Tensor:
        return F.cross_entropy(model(batch[0]), batch[1])

    torch.manual_seed(0)
    model = Net().eval()
    reading = traindx.probe(model, data[0], loss, probes=["gradients"]).readings["gradients"]
    reference = torch.autograd.grad(loss(model, data[0]), model.conv.weight)[0]
    norms = {row[0]: row[1] for row in reading.tables[0].rows}
    assert norms["conv.weight"] == pytest.approx(reference.norm().item(), rel=1e-5)


@pytest.mark.parametrize(
    ("batch", "loss", "told"),
    [
        ([], nn.MSELoss(), "no batch"),
        (torch.ones(2, 3), nn.MSELoss(), "no target"),
        ((torch.ones(2, 3), torch.ones(2, 3)), nn.MSELoss(reduction="none"), "no single number"),
        ((torch.ones(2, 3),), None, "has no loss"),
    ],
)
def test_what_cannot_be_used_is_said(batch: Any, loss: Any, told: str) -> None:
    with pytest.raises(TraindxError, match=told):
        traindx.probe(nn.Linear(3, 3), batch, loss)


def test_no_hook_stays_behind(data: list[tuple[torch.Tensor, torch.Tensor]]) -> None:
    def hooks() -> dict[str, int]:
        names = [
            name
            for name in vars(torch_module)
            if name.startswith("_global") and name.endswith(("hooks", "called", "kwargs"))
        ]
        return {name: len(getattr(torch_module, name)) for name in names}

    before = hooks()
    assert "_global_forward_hooks" in before
    traindx.probe(Net(), data, F.cross_entropy, probes=["gradients", "activations"])
    assert hooks() == before


def test_unknown_probes_are_named() -> None:
    with pytest.raises(TraindxError, match="no probe called 'gradient'"):
        traindx.probe(nn.Linear(3, 3), (torch.ones(2, 3), torch.ones(2, 3)), nn.MSELoss(), probes=["gradient"])


def test_findings_are_added_to_a_recording(tmp_path: Path) -> None:
    data = (torch.randn(64, 6), torch.randint(3, (64,)))
    recording = tmp_path / "RUN.traindx"
    with pytest.raises(TraindxError, match="no recording"):
        traindx.probe(nn.Linear(6, 3), data, nn.functional.cross_entropy, probes=["gradients"], add_to=recording)
    recording.mkdir()
    row = '{"k": "rows", "names": ["loss"], "rows": [[0, 1.1]]}\n'
    (recording / "rank-0.jsonl").write_text('{"k": "meta", "schema": "traindx.recording/2"}\n' + row)
    model = nn.Sequential(*(layer for _ in range(12) for layer in (nn.Linear(6, 6), nn.Sigmoid())), nn.Linear(6, 3))
    done = traindx.probe(model, data, nn.functional.cross_entropy, probes=["gradients"], add_to=recording)
    assert done.diagnosis.hypotheses[0].cause == "vanishing-gradients"
    assert [one.probe for one in find_runs([recording])[0].probed] == ["gradients"]
