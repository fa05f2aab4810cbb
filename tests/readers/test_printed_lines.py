"""Lines that a recorded training printed: what they measure, and what of it is kept beside the recording's own."""

from __future__ import annotations

import numpy as np
import pytest

from traindx.meaning import meaning_of
from traindx.readers.text.printed import added, printed_series
from traindx.run import Series

EPOCHS = 6


def lines(text: str) -> list[tuple[float, str]]:
    """The same line at the end of every epoch of ten updates."""
    return [(10.0 * (epoch + 1), text.format(e=epoch + 1, v=1 / (epoch + 1))) for epoch in range(EPOCHS)]


def series(name: str, values: list[float]) -> Series:
    return Series(name, meaning_of(name), np.arange(len(values), dtype=float), np.array(values), "step")


@pytest.mark.parametrize(
    "text",
    [
        "Epoch {e}/6 val_loss: {v:.6f}",
        "[{e}] loss=3.0 val_loss={v:.6f}",
        "Epoch {e}, train loss 2.0, val loss {v:.6f}, lr 1.0e-03",
    ],
)
def test_values_stand_at_the_updates_made_before_their_line(text: str) -> None:
    between = [(10.0 * (epoch + 1) - 5, "3 files were read") for epoch in range(EPOCHS)]
    mixed = [one for pair in zip(between, lines(text), strict=True) for one in pair]
    found = {one.name: one for one in printed_series(mixed)}
    held_out = next(one for one in found.values() if one.meaning.kind == "loss" and one.meaning.split == "val")
    assert held_out.steps.tolist() == [10, 20, 30, 40, 50, 60]
    assert held_out.values.tolist() == pytest.approx([1 / e for e in range(1, EPOCHS + 1)], abs=1e-5)


def test_lines_without_measurements_give_nothing() -> None:
    assert printed_series([(0.0, "12 files in 3 folders"), (5.0, "saved to model_5.pt")]) == []


RECORDED = {"train_loss": series("train_loss", list(np.linspace(1.2, 0.2, 61)))}


@pytest.mark.parametrize(
    ("text", "recorded", "kept"),
    [
        ("Epoch {e} val_acc {v:.3f}", RECORDED, {"val_acc"}),
        ("Epoch {e} val_loss {v:.3f}", RECORDED, {"val_loss"}),  # begins where the training loss does
        ("Epoch {e} loss 45.1 val_loss {v:.3f}", RECORDED, set()),  # sums of something: no common scale
        ("Epoch {e} val_loss {v:.5f}00", {"train_loss": series("train_loss", [90.0] * 61)}, set()),
        ("Epoch {e} lr 0.1 loss {v:.3f}", RECORDED, set()),  # known better from inside
        ("Epoch {e} val_loss {v:.3f}", RECORDED | {"val_loss": series("val_loss", [1.0, 0.9])}, set()),
        ("Episode {e} return {v:.3f}", RECORDED, {"return"}),
        ("Episode {e} return {v:.3f}", RECORDED | {"reward": series("reward", [1.0, 2.0])}, set()),
    ],
)
def test_only_what_the_recording_has_not_measured_is_added(
    text: str, recorded: dict[str, Series], kept: set[str]
) -> None:
    assert set(added(recorded, printed_series(lines(text)))) == kept


def test_a_training_loss_beside_it_that_agrees_with_the_recorded_one_vouches_for_its_scale() -> None:
    text = [(10.0 * e, f"Epoch {e} train loss {1.2 - e / 6 + 1 / 12:.3f} val loss {9.0 + e:.2f}") for e in range(1, 7)]
    assert {one.meaning.split for one in added(RECORDED, printed_series(text)).values()} == {"val"}


LOSSES = [(10.0 * number, f"step {10 * number} loss {3 - number / 10:.3f}") for number in range(20)]


@pytest.mark.parametrize(
    ("before", "after", "name", "values"),
    [
        ("", "solved before 0.88 after 0.15; probability of the answer 0.43 -> 0.06", "solved", [0.88, 0.15]),
        ("", "Accuracy: 10.0% → 95.0%", "Accuracy", [10.0, 95.0]),
        ("baseline accuracy: 0.31", "final accuracy: 0.84", "accuracy", [0.31, 0.84]),
    ],
)
def test_a_score_before_and_after_the_training_is_one_series(
    before: str, after: str, name: str, values: list[float]
) -> None:
    printed = [(0.0, before), *LOSSES, (200.0, after)]
    found = next(one for one in printed_series(printed) if one.meaning.kind == "score")
    assert (found.name, found.steps.tolist(), found.values.tolist()) == (name, [0.0, 200.0], values)


def test_arrows_between_other_numbers_are_no_score() -> None:
    found = printed_series([*LOSSES, (200.0, "lr 0.1 -> 0.01"), (200.0, "top left 0.3 -> 0.4")])
    assert [one.name for one in found] == ["loss"]
