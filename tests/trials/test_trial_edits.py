"""Edits of the source: the least that makes the setting true, in the user's own formatting, or nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from traindx.trials.editing import Evidence, diff_of, edited
from traindx.trials.setting import combined

pytest.importorskip("libcst")

LOOP = """\
import torch

EPOCHS = 3
model = torch.nn.Linear(2, 1)  # the model
opt = torch.optim.SGD(model.parameters(), lr=1.5, momentum=0.9)

for epoch in range(EPOCHS):
    for x, y in data:
        loss = ((model(x) - y) ** 2).mean()
        # now learn
        loss.backward()
        opt.step()
"""


def changed(tmp_path: Path, source: str, setting: str) -> list[str]:
    """The added lines, or nothing where no edit is sure."""
    script = tmp_path / "train.py"
    script.write_text(source)
    edits = edited(tmp_path, script, combined(setting), Evidence({"lr": 0.001}))
    if edits is None:
        return []
    lines = diff_of(tmp_path, edits).splitlines()
    return [line[1:].strip() for line in lines if line.startswith("+") and not line.startswith("+++")]


@pytest.mark.parametrize(
    ("setting", "expected"),
    [
        ("lr=x0.1", ["opt = torch.optim.SGD(model.parameters(), lr=0.15, momentum=0.9)"]),
        ("zero_grad", ["opt.zero_grad()"]),
        ("clip=1.0", ["torch.nn.utils.clip_grad_norm_(model.parameters(), 1)"]),
        ("epochs=x5", ["EPOCHS = 15"]),
        ("nothing", []),
    ],
)
def test_edits_of_a_plain_loop(tmp_path: Path, setting: str, expected: list[str]) -> None:
    assert changed(tmp_path, LOOP, setting) == expected


def test_a_value_is_changed_where_it_comes_from(tmp_path: Path) -> None:
    parser = LOOP.replace("lr=1.5", "lr=args.lr").replace(
        "EPOCHS = 3", "parser.add_argument('--lr', type=float, default=1.5)\nEPOCHS = 3"
    )
    assert changed(tmp_path, parser, "lr=x0.1") == ["parser.add_argument('--lr', type=float, default=0.15)"]
    constant = LOOP.replace("lr=1.5", "lr=RATE").replace("EPOCHS = 3", "RATE = 3e-2\nEPOCHS = 3")
    assert changed(tmp_path, constant, "lr=x0.1") == ["RATE = 0.003"]


def test_two_optimizers_are_not_guessed_about(tmp_path: Path) -> None:
    two = LOOP.replace("for epoch", "other = torch.optim.SGD(model.parameters(), lr=1)\nfor epoch")
    assert changed(tmp_path, two, "lr=x0.1") == []
