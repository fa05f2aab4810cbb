"""Every number against an independent computation by torch or plain numpy on the whole tensor."""

from __future__ import annotations

import math
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import torch
from checkpoint_files import fit, mlp, saved, trained

from traindx.checkpoints import tensor as tensors
from traindx.checkpoints.drift import drift
from traindx.checkpoints.find import open_checkpoint
from traindx.checkpoints.initial import initial
from traindx.checkpoints.layers import Measured, measured
from traindx.checkpoints.measure import QUANTILES, Stats, measure
from traindx.checkpoints.parts import Checkpoint


def stats_of(tmp_path: Path, values: torch.Tensor, name: str = "w") -> Stats:
    torch.save({name: values}, tmp_path / "a.pt")
    return measure(open_checkpoint(tmp_path / "a.pt").weights[name])


def opened(tmp_path: Path, thing: object, name: str = "a.pt") -> Checkpoint:
    torch.save(thing, tmp_path / name)
    return open_checkpoint(tmp_path / name)


@pytest.mark.parametrize("shape", [(1000, 700), (7, 300_001), (123_457,), (3, 3, 5, 5)])
@pytest.mark.parametrize("kind", [torch.float32, torch.float64, torch.bfloat16, torch.float16])
def test_statistics(tmp_path: Path, shape: tuple[int, ...], kind: torch.dtype) -> None:
    values = (torch.randn(*shape, generator=torch.Generator().manual_seed(0)) * 0.1 + 0.02).to(kind)
    values.view(-1)[::7] = 0
    found = stats_of(tmp_path, values)
    wanted = values.double().numpy()
    assert found.norm == pytest.approx(np.linalg.norm(wanted.ravel()), rel=1e-9)
    assert found.mean == pytest.approx(wanted.mean(), rel=1e-8)
    assert found.std == pytest.approx(wanted.std(), rel=1e-8)
    assert (found.low, found.high) == (wanted.min(), wanted.max())
    assert found.zeros == np.count_nonzero(wanted == 0)
    assert found.nonfinite == 0
    error = 0.12 * wanted.std()  # the sample has 8192 elements, the outermost quantile lies in a thin tail
    assert found.quantiles == pytest.approx(np.quantile(wanted, QUANTILES), abs=error)


def test_non_finite_values_are_counted_and_left_out(tmp_path: Path) -> None:
    values = torch.randn(300, 50)
    values[3, 4], values[7], values[9, 9] = float("nan"), float("inf"), float("-inf")
    found = stats_of(tmp_path, values)
    finite = values[torch.isfinite(values)].double().numpy()
    assert (found.nonfinite, found.nans) == (52, 1)
    assert found.norm == pytest.approx(np.linalg.norm(finite), rel=1e-9)
    assert found.largest == np.abs(finite).max()


def test_rows_that_are_dead_or_copies(tmp_path: Path) -> None:
    values = torch.randn(400, 30)
    values[5:25] = 0
    values[100:110] = values[99]
    found = stats_of(tmp_path, values)
    assert (found.rows, found.dead_rows, found.twin_rows, found.copies) == (400, 20, 10, False)
    assert stats_of(tmp_path, torch.randn(1, 30).repeat(40, 1)).copies


def test_blocks_do_not_change_the_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    values = torch.randn(211, 37)
    whole = stats_of(tmp_path, values)
    monkeypatch.setattr(tensors, "BLOCK", 100)
    pieces = stats_of(tmp_path, values)
    assert (pieces.norm, pieces.mean, pieces.low) == pytest.approx((whole.norm, whole.mean, whole.low))
    assert (pieces.rows, pieces.twin_rows) == (whole.rows, whole.twin_rows)


@pytest.mark.parametrize(
    "layer", [torch.nn.Linear(40, 60), torch.nn.Conv2d(8, 16, 3), torch.nn.ConvTranspose2d(8, 16, 3)]
)
def test_fresh_layers_look_fresh_and_moved_ones_do_not(tmp_path: Path, layer: torch.nn.Module) -> None:
    torch.manual_seed(0)
    for _ in range(20):
        layer.reset_parameters()  # type: ignore[operator]
        assert initial(stats_of(tmp_path, layer.weight.detach())).startswith("uniform ±1/√fan-in")
        moved = layer.weight.detach() * (1 + 0.05 * torch.randn(layer.weight.shape))
        assert not initial(stats_of(tmp_path, moved)).startswith("uniform")


@pytest.mark.parametrize(
    ("fill", "word"),
    [(torch.nn.init.xavier_uniform_, "uniform Xavier"), (torch.nn.init.kaiming_uniform_, "uniform He"),
     (torch.nn.init.kaiming_normal_, "normal He"), (torch.nn.init.xavier_normal_, "normal Xavier")],
)  # fmt: skip
def test_the_starts_of_libraries(tmp_path: Path, fill: object, word: str) -> None:
    torch.manual_seed(1)
    values = torch.empty(300, 500)
    fill(values)  # type: ignore[operator]
    assert initial(stats_of(tmp_path, values)) == word
    assert initial(stats_of(tmp_path, values * 1.05)) == ""


def test_recurrent_and_embedding_starts(tmp_path: Path) -> None:
    torch.manual_seed(0)
    state = {**torch.nn.LSTM(20, 64).state_dict(), "embed.weight": torch.nn.Embedding(900, 90).weight}
    for name in ("weight_ih_l0", "weight_hh_l0"):
        assert initial(stats_of(tmp_path, state[name], name)).startswith("uniform")
    assert initial(stats_of(tmp_path, state["embed.weight"].detach(), "embed.weight")) == "normal 1"


@pytest.mark.parametrize(
    ("make", "options"),
    [(torch.optim.Adam, {}), (torch.optim.AdamW, {"weight_decay": 0.0, "betas": (0.8, 0.99)}),
     (torch.optim.SGD, {"momentum": 0.9})],
)  # fmt: skip
def test_the_update_ratio_is_that_of_the_step_torch_made(
    tmp_path: Path, make: type[torch.optim.Optimizer], options: dict[str, float]
) -> None:
    model = mlp()
    optimizer = make(model.parameters(), lr=0.01, **options)  # type: ignore[call-arg]
    fit(model, optimizer, 12)
    before = {name: weight.detach().clone().double() for name, weight in model.named_parameters()}
    fit(model, optimizer, 1)
    found = measured(opened(tmp_path, saved(model, optimizer, 13)))
    for name, weight in model.named_parameters():
        update = found.layers[name].update
        assert update is not None
        wanted = (weight.detach().double() - before[name]).norm() / weight.detach().double().norm()
        assert update.ratio == pytest.approx(float(wanted), rel=2e-3), name


def test_moments_of_a_part_of_the_model_find_their_owners(tmp_path: Path) -> None:
    model = mlp()
    optimizer = torch.optim.Adam([*model[2].parameters(), *model[4].parameters()])
    fit(model, optimizer, 3)
    found = measured(opened(tmp_path, saved(model, optimizer, 3)))
    assert [name for name, layer in found.layers.items() if layer.update is not None] == [
        "2.weight",
        "2.bias",
        "4.weight",
        "4.bias",
    ]


def test_moments_stay_unnamed_where_two_owners_are_possible(tmp_path: Path) -> None:
    model = torch.nn.Sequential(*[torch.nn.Linear(16, 16) for _ in range(3)])
    optimizer = torch.optim.Adam(model[1].parameters())
    model(torch.randn(4, 16)).sum().backward()
    optimizer.step()
    found = measured(opened(tmp_path, saved(model, optimizer, 1)))
    assert all(layer.update is None for layer in found.layers.values())
    assert len(found.unnamed) == 2


def test_rounding_of_updates_in_bfloat16(tmp_path: Path) -> None:
    model = mlp().to(torch.bfloat16)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, weight_decay=0.0, foreach=False)
    inputs = torch.randn(256, 64).to(torch.bfloat16)
    fit(model, optimizer, 10, inputs)
    found = measured(opened(tmp_path, saved(model, optimizer, 10)))
    state = optimizer.state[model[2].weight]
    near, far = 1 - 0.9**10, 1 - 0.999**10
    change = 1e-4 * (state["exp_avg"].double() / near) / ((state["exp_avg_sq"].double() / far).sqrt() + 1e-8)
    again = (model[2].weight.detach().double() - change).float().to(torch.bfloat16)
    pushed = change != 0
    wanted = float(((again == model[2].weight.detach()) & pushed).sum() / pushed.sum())
    update = found.layers["2.weight"].update
    assert update is not None
    assert update.lost == pytest.approx(wanted, abs=1e-3)


def test_drift(tmp_path: Path) -> None:
    before = {"a": torch.randn(300, 400), "b": torch.randn(50), "c": torch.randn(5), "d": torch.zeros(4)}
    after = {"a": before["a"] + 0.1 * torch.randn(300, 400), "b": before["b"], "c": torch.randn(6), "d": torch.ones(4)}
    one, other = opened(tmp_path, before, "1.pt").weights, opened(tmp_path, after, "2.pt").weights
    moved = drift(one["a"], other["a"])
    assert moved is not None
    left, right = before["a"].double().flatten(), after["a"].double().flatten()
    assert moved.change == pytest.approx(float((right - left).norm() / left.norm()), rel=1e-9)
    assert moved.cosine == pytest.approx(float(left @ right / left.norm() / right.norm()), rel=1e-9)
    assert not moved.identical
    still = drift(one["b"], other["b"])
    assert still is not None
    assert still.identical
    assert drift(one["c"], other["c"]) is None
    from_zero = drift(one["d"], other["d"])
    assert from_zero is not None
    assert from_zero.change == math.inf


def test_progress_reaches_its_end(tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    checkpoint = opened(tmp_path, trained(mlp(), steps=2))
    found: Measured = measured(checkpoint, checkpoint, lambda _, done, total: told.append((done, total)))
    assert found.layers
    assert told[-1][0] == told[-1][1]
    assert all(one <= other for (one, _), (other, _) in pairwise(told))
