"""Which samples a training gets most wrong: labels, predictions and losses as they are, pictures of what goes in, and
nothing of the data in a private recording."""

from __future__ import annotations

import os
from pathlib import Path
from unittest import mock

import pytest
import torch
from live_scripts import run

from traindx.live.measures.picks import CLASSES, KNOWN, Costs, chosen
from traindx.live.measures.thumbnails import pixels, small
from traindx.measurements import ShownSamples
from traindx.readers.find import find_runs
from traindx.shown_samples import samples_of

LOOP = """
for e in range(30):
    for i in range(0, len(x), 32):
        loss = {loss}
        opt.zero_grad(); loss.backward(); opt.step()
"""
IMAGES = """
y = torch.arange(96) % 3
x = torch.zeros(96, 1, 12, 12); x[torch.arange(96), 0, 4 * y] = 1.0
y[5] = 0
net = nn.Sequential(nn.Flatten(), nn.Linear(144, 3)); opt = torch.optim.Adam(net.parameters(), lr=3e-2)
""" + LOOP.format(loss="F.cross_entropy(net(x[:32]), y[:32])")
NUMBERS = """
x = torch.randn(96, 6); y = x[:, :1] * 2; y[7] = 300.0
net = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 1)); opt = torch.optim.Adam(net.parameters(), lr=1e-2)
""" + LOOP.format(loss="F.mse_loss(net(x[:32]), y[:32])")


def shown(script: str, folder: Path) -> ShownSamples:
    recording = folder / "run.traindx"
    run(script, recording, 0.05, ended=True)
    (found,) = samples_of(find_runs([recording])[0].measured)
    return found


def test_a_wrong_label_costs_most_in_the_end_and_its_picture_is_kept(tmp_path: Path) -> None:
    found = shown(IMAGES, tmp_path)
    worst = found.samples[0]
    assert (found.labels, found.rows, found.shape) == ("class", 32, (1, 12, 12))
    assert found.seen >= 16  # not of the untrained model
    assert worst.worst
    assert worst.row == 5
    assert worst.label == (0.0,)
    assert worst.prediction == (2.0,)
    assert worst.probability is not None
    assert worst.probability < 0.5
    assert worst.size == (12, 12, 1)
    assert worst.range == (0.0, pytest.approx(1 / 12), 1.0)
    assert [one.worst for one in found.samples] == [True] * 4 + [False] * 4
    assert len({one.row for one in found.samples}) == 8


def test_nothing_of_the_data_is_in_a_private_recording(tmp_path: Path) -> None:
    with mock.patch.dict(os.environ, TRAINDX_PRIVATE="1"):
        found = shown(NUMBERS, tmp_path)
    worst = found.samples[0]
    assert found.private
    assert worst.row == 7
    assert worst.loss is not None
    assert not any((worst.label, worst.prediction, worst.range, worst.numbers, worst.picture))


def test_vectors_are_summed_up(tmp_path: Path) -> None:
    worst = shown(NUMBERS, tmp_path).samples[0]
    assert worst.label == (300.0,)
    assert len(worst.numbers) == 6
    assert not worst.picture


@pytest.mark.parametrize("name", sorted(KNOWN))
def test_losses_are_those_of_torch(name: str) -> None:
    torch.manual_seed(0)
    scores, target = torch.randn(6, 3), torch.rand(6, 3)
    if name in CLASSES:
        target = torch.tensor([0, 1, 2, 0, 1, 2])
        scores = scores.log_softmax(1) if name == "nll_loss" else scores
    elif name == "binary_cross_entropy":
        scores = scores.sigmoid()
    expected = getattr(torch.nn.functional, name)(scores, target, reduction="none")
    expected = expected.mean(1) if expected.dim() > 1 else expected
    assert Costs(name, scores, target, {}).losses == pytest.approx(expected.tolist(), rel=1e-5)


def test_labels_that_are_left_out_are_not_shown_and_what_is_not_finite_comes_first() -> None:
    scores = torch.zeros(12, 4)
    scores[3] = float("nan")
    target = torch.arange(12) % 4
    target[0] = -100
    picked = chosen(Costs("cross_entropy", scores, target, {}), seed=0)
    assert picked[0] == (3, True)
    assert 0 not in [row for row, _ in picked]


def test_pictures_are_small_views_and_sequences_are_none() -> None:
    data = torch.rand(5, 3, 224, 200)
    view = small(data)
    assert view.shape[0:2] == (5, 3)
    assert max(view.shape[2:]) <= 24
    assert view.untyped_storage().data_ptr() == data.untyped_storage().data_ptr()
    assert pixels(view[0])[0][2] == 3
    assert small(torch.rand(5, 64, 64, 3)).shape[1] == 3
    assert small(torch.rand(5, 100, 7)).dim() == 2
