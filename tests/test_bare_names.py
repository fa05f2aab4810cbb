"""`Loss: 0.41, Train: 0.93, Val: 0.86`: what is named by its data alone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from traindx.meaning import meaning_of
from traindx.opening import diagnose
from traindx.readers.text.printed import printed_series


def _lines(rows: Sequence[str]) -> list[tuple[float, str]]:
    return [(float(step), row) for step, row in enumerate(rows, 1)]


def _kinds(rows: Sequence[str]) -> dict[str, tuple[str, str]]:
    return {one.name: (one.meaning.kind, one.meaning.goal) for one in printed_series(_lines(rows))}


ROWS = [
    f"Epoch: {epoch:03d}, Loss: {1.9 * 0.93**epoch:.4f}, Train: {min(0.99, 0.3 + 0.03 * epoch):.4f}, "
    f"Val: {min(0.84, 0.25 + 0.03 * epoch):.4f}, Test: {min(0.86, 0.2 + 0.03 * epoch):.4f}"
    for epoch in range(1, 41)
]


def test_shares_beside_a_loss_are_scores() -> None:
    kinds = _kinds(ROWS)
    assert kinds["Loss"] == ("loss", "min")
    assert {kinds[name] for name in ("Train", "Val", "Test")} == {("score", "max")}


@pytest.mark.parametrize("factor", [100.0])
def test_percentages_beside_a_loss_are_scores(factor: float) -> None:
    rows = [
        f"epoch {n} loss {2.0 - 0.05 * n:.3f} train {factor * n / 40:.1f} test {factor * n / 50:.1f}" for n in range(30)
    ]
    assert _kinds(rows)["test"] == ("score", "max")


@pytest.mark.parametrize(
    ("rows", "name"),
    [
        ([f"Loss: {2 - n / 20:.3f}, Train: {0.9 - n / 50:.3f}, Val: {0.95 - n / 50:.3f}" for n in range(30)], "Val"),
        ([f"step {n}: train {4.2 - n / 20:.4f}, val {4.3 - n / 20:.4f}" for n in range(30)], "val"),
        ([f"step {n}: train {0.8 - n / 50:.4f}, val {0.9 - n / 50:.4f}" for n in range(30)], "val"),
        ([f"loss {2 - n / 20:.3f} val {3000 + n}" for n in range(30)], "val"),
    ],
    ids=["falls with the loss", "nanoGPT", "nanoGPT below one", "no share"],
)
def test_others_stay_losses(rows: list[str], name: str) -> None:
    assert _kinds(rows)[name] == ("loss", "min")


def test_a_log_of_a_graph_network_is_sound(tmp_path: Path) -> None:
    (tmp_path / "train.log").write_text("\n".join(ROWS) + "\n")
    page = diagnose(tmp_path / "train.log")
    assert page.verdict == "healthy"
    assert next(curve for curve in page.curves if curve.name == "Val").goal == "max"


def test_the_general_rule_is_unchanged() -> None:
    assert meaning_of("val").kind == "loss"
