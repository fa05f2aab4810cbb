"""The questions before training get the right answers, from healthy models and from broken ones."""

from __future__ import annotations

from collections.abc import Callable

import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402

from traindx.probes.base import Deadline  # noqa: E402
from traindx.probes.given import subject_of  # noqa: E402
from traindx.probes.kinds.sanity import PROBE  # noqa: E402
from traindx.probes.overfit import chance_level  # noqa: E402
from traindx.run import Fact  # noqa: E402

SECONDS = 12.0


def facts(
    model: nn.Module, batch: object, loss: object, optimizer: torch.optim.Optimizer | None = None
) -> dict[str, Fact]:
    subject = subject_of(model, batch, loss, optimizer)
    with subject.undisturbed():
        return {fact.id: fact for fact in PROBE.measure(subject, Deadline(SECONDS)).facts}


def classes(count: int = 32) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    return torch.randn(count, 10, generator=generator), torch.randint(4, (count,), generator=generator)


def mlp() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 4))


@pytest.mark.parametrize(
    ("rate", "present"),
    [(0.5, None), (1e-6, "batch-barely-moves"), (300.0, "batch-diverges")],
    ids=["good", "low", "high"],
)
def test_the_users_learning_rate_on_one_batch(rate: float, present: str | None) -> None:
    model = mlp()
    found = facts(model, classes(), nn.CrossEntropyLoss(), torch.optim.SGD(model.parameters(), lr=rate))
    assert [fact.id for fact in found.values() if fact.present] == ([] if present is None else [present])
    assert found["batch-not-learned"].present is False
    if present is None:
        assert found["batch-diverges"].present is False
        assert found["batch-barely-moves"].present is False


def test_a_rate_that_is_being_warmed_up_is_not_low() -> None:
    model = mlp()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: (step + 1) / 1e6)
    assert optimizer.param_groups[0]["lr"] < 1e-5
    found = facts(model, classes(), nn.CrossEntropyLoss(), optimizer)
    assert not any(fact.present for fact in found.values())


def test_a_model_that_cannot_learn() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(*(layer for _ in range(12) for layer in (nn.Linear(10, 10), nn.Sigmoid())), nn.Linear(10, 4))
    found = facts(model, classes(), nn.CrossEntropyLoss(), torch.optim.SGD(model.parameters(), lr=0.1))
    assert found["batch-not-learned"].present
    assert found["prediction-collapse"].present
    assert "batch-barely-moves" not in found


def test_a_broadcast_loss_learns_the_mean_only() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 1))
    x, _ = classes(64)
    y = torch.randn(64)
    with pytest.warns(UserWarning, match="broadcasting"):
        found = facts(model, (x, y), nn.MSELoss(), torch.optim.Adam(model.parameters(), 1e-3))
    assert found["batch-not-learned"].present


class Recurrent(nn.Module):
    def __init__(self, batch_first: bool) -> None:
        super().__init__()
        self.rnn, self.head = nn.GRU(5, 12, batch_first=batch_first), nn.Linear(12, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.rnn(x)[0][:, -1])


@pytest.mark.parametrize("batch_first", [True, False])
def test_samples_that_see_each_other(batch_first: bool) -> None:
    torch.manual_seed(0)
    batch = (torch.randn(16, 7, 5), torch.randint(3, (16,)))
    assert facts(Recurrent(batch_first), batch, nn.CrossEntropyLoss())["samples-mixed"].present is not batch_first


def test_batch_norm_does_not_mix_samples_where_it_counts() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(10, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 4))
    assert facts(model, classes(), nn.CrossEntropyLoss())["samples-mixed"].present is False


class Language(nn.Module):
    def __init__(self, masked: bool) -> None:
        super().__init__()
        self.embed, self.head, self.masked = nn.Embedding(9, 16), nn.Linear(16, 9), masked
        self.block = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        mask = nn.Transformer.generate_square_subsequent_mask(tokens.shape[1]) if self.masked else None
        return self.head(self.block(self.embed(tokens), src_mask=mask)).transpose(1, 2)


@pytest.mark.parametrize("masked", [True, False])
def test_models_that_see_the_future(masked: bool) -> None:
    torch.manual_seed(0)
    text = torch.randint(9, (8, 13))
    found = facts(Language(masked), (text[:, :-1].contiguous(), text[:, 1:].contiguous()), nn.CrossEntropyLoss())
    assert found["sees-the-future"].present is not masked
    assert "samples-mixed" not in found  # which dimension counts the samples is not certain here


def test_broken_inputs() -> None:
    x, y = classes()
    x[3, 3] = float("nan")
    assert facts(mlp(), (x, y), nn.CrossEntropyLoss())["nonfinite-inputs"].present


@pytest.mark.parametrize(
    ("loss", "target", "expected"),
    [
        (nn.CrossEntropyLoss(), lambda: torch.tensor([0, 0, 1, 1, 2, 2, 3, 3]), 1.3863),
        (nn.MSELoss(), lambda: torch.tensor([1.0, 3.0, 1.0, 3.0]).view(4, 1), 1.0),
        (nn.BCEWithLogitsLoss(), lambda: torch.tensor([1.0, 0.0, 0.0, 0.0]).view(4, 1), 0.5623),
    ],
)
def test_chance_is_the_best_constant_answer(
    loss: nn.Module, target: Callable[[], torch.Tensor], expected: float
) -> None:
    y = target()
    model = nn.Linear(3, 4 if not y.is_floating_point() else 1)
    subject = subject_of(model, (torch.randn(len(y), 3), y), loss)
    assert chance_level(subject, subject.steps[0]) == pytest.approx(expected, abs=1e-4)


class Cut(nn.Module):
    """The first layer runs, and nothing flows back to it."""

    def __init__(self) -> None:
        super().__init__()
        self.body, self.head = nn.Linear(10, 32), nn.Linear(32, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.body(x).relu().detach())


def answers(model: nn.Module, rate: float = 0.1) -> dict[str, tuple[str, str]]:
    subject = subject_of(model, classes(), nn.CrossEntropyLoss(), torch.optim.SGD(model.parameters(), lr=rate))
    with subject.undisturbed():
        table = PROBE.measure(subject, Deadline(SECONDS)).tables[0]
    return {row[0]: (row[1], row[2]) for row in table.rows}


def test_gradients_reach_everything_and_an_update_moves_it() -> None:
    told = answers(mlp())
    assert told["gradients reach everything"] == ("ok", "4 of 4 trained tensors receive a gradient")
    assert told["an update moves the weights"][0] == "ok"
    assert told["numbers within their type"][0] == "ok"


def test_a_cut_graph_and_a_rate_of_zero_are_seen() -> None:
    told = answers(Cut())
    assert told["gradients reach everything"][0] == "problem"
    assert "body.weight" in told["gradients reach everything"][1]
    assert answers(mlp(), rate=0.0)["an update moves the weights"][0] == "problem"


def test_half_precision_near_its_limit_is_seen() -> None:
    model = nn.Sequential(nn.Linear(10, 8), nn.Linear(8, 4)).half()
    with torch.no_grad():
        model[0].weight.fill_(9000.0)
    inputs, targets = torch.ones(32, 10).half(), torch.zeros(32, dtype=torch.long)
    subject = subject_of(model, (inputs, targets), lambda out, y: nn.functional.cross_entropy(out.float(), y), None)
    with subject.undisturbed():
        table = PROBE.measure(subject, Deadline(SECONDS)).tables[0]
    assert next(row for row in table.rows if row[0] == "numbers within their type")[1] == "problem"
