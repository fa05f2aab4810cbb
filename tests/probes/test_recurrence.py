"""Gradients along time: the rate of recurrent layers against a computation step by step, and what is made of it."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from probing import facts, read  # noqa: E402
from torch import nn  # noqa: E402

from traindx.probes.given import subject_of  # noqa: E402
from traindx.probes.kinds.gradients import PROBE  # noqa: E402
from traindx.probes.recurrence import Memory, memories  # noqa: E402

STEPS = 40


class Reader(nn.Module):
    def __init__(self, kind: str, growth: float = 1.0) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.kind = kind
        if kind == "hand":
            self.input, self.memory = nn.Linear(5, 16), nn.Linear(16, 16)
        elif kind.endswith("Cell"):
            self.cell = getattr(nn, kind)(5, 16)
        else:
            self.rnn = getattr(nn, kind)(5, 16, batch_first=True)
            with torch.no_grad():
                self.rnn.weight_hh_l0.mul_(growth)
        self.head = nn.Linear(16, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if hasattr(self, "rnn"):
            return self.head(self.rnn(x)[0][:, -1])
        state = None if hasattr(self, "cell") else torch.zeros(len(x), 16)
        for t in range(x.shape[1]):
            if hasattr(self, "cell"):
                state = self.cell(x[:, t], state)
            else:
                state = torch.tanh(self.input(x[:, t]) + self.memory(state))
        return self.head(state[0] if isinstance(state, tuple) else state)


def batch() -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(1)
    return torch.randn(12, STEPS, 5, generator=generator), torch.randint(3, (12,), generator=generator)


def found(model: nn.Module) -> dict[str, Memory]:
    subject = subject_of(model, batch(), nn.functional.cross_entropy)
    with subject.undisturbed():
        return {memory.layer: memory for memory in memories(subject)}


@pytest.mark.parametrize("kind", ["RNN", "LSTM", "GRU"])
def test_every_step_agrees_with_a_loop_over_cells(kind: str) -> None:
    model = Reader(kind)
    memory = found(model)["rnn"]
    cell = getattr(nn, f"{kind}Cell")(5, 16)
    for name, tensor in cell.named_parameters():
        tensor.data.copy_(getattr(model.rnn, f"{name}_l0").data)
    x = batch()[0].requires_grad_()
    state = None
    for t in range(STEPS):
        state = cell(x[:, t], state)
    last = state[0] if isinstance(state, tuple) else state
    cotangent = torch.randn(last.shape, generator=torch.Generator().manual_seed(20260104))
    (gradient,) = torch.autograd.grad(last, x, cotangent)
    assert memory.sizes == pytest.approx([float(gradient[:, t].norm()) for t in range(STEPS)], rel=1e-3)
    whole = memory.sizes[-1] / memory.sizes[4]
    assert memory.rate.per_layer == pytest.approx(whole ** (1 / (STEPS - 5)), rel=0.05)


@pytest.mark.parametrize(
    ("kind", "layer"), [("RNNCell", "cell"), ("LSTMCell", "cell"), ("GRUCell", "cell"), ("hand", "memory")]
)
def test_loops_written_by_hand_are_followed(kind: str, layer: str) -> None:
    memory = found(Reader(kind))[layer]
    assert len(memory.sizes) == STEPS
    assert 0.2 < memory.back < 0.95


def test_layers_that_are_called_often_but_not_in_a_row_have_no_time() -> None:
    class Twins(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.body = nn.Linear(5, 3)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return sum(self.body(x[:, t]) for t in range(x.shape[1]))

    assert found(Twins()) == {}


def test_growth_is_a_fact_and_fading_a_note() -> None:
    calm = read(PROBE, Reader("LSTM"), batch(), nn.functional.cross_entropy)
    assert facts(calm)["fades-over-time"].present
    assert "exploding-gradients" not in {fact.id for fact in facts(calm).values() if fact.present}
    assert any(chart.title == "Gradient of the last step along time" for chart in calm.charts)
    model = Reader("RNN", growth=6.0)
    model.rnn.nonlinearity, model.rnn.mode = "relu", "RNN_RELU"
    wild = facts(read(PROBE, model, batch(), nn.functional.cross_entropy))
    assert wild["exploding-gradients"].present
    assert not wild["fades-over-time"].present
