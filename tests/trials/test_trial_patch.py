"""Patches that are not ours: applied to copies, judged like a fix, and asked for in rounds."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from traindx.cli import main
from traindx.engine import diagnose
from traindx.errors import TraindxError
from traindx.fixes import fixes
from traindx.run import Run
from traindx.trials.outcome import repaired
from traindx.trials.patch import applied, candidate_of

CUT = """\
import torch, torch.nn as nn, torch.nn.functional as F
torch.manual_seed(0)
X = torch.randn(300, 6)
y = (X[:, 0] * X[:, 1] > 0).long()
first, last = nn.Linear(6, 32), nn.Linear(32, 2)
opt = torch.optim.Adam([*first.parameters(), *last.parameters()], lr=0.01)
for step in range(150):
    rows = torch.randint(0, 240, (40,))
    hidden = F.relu(first(X[rows])).detach()  # features
    loss = F.cross_entropy(last(hidden), y[rows])
    opt.zero_grad()
    loss.backward()
    opt.step()
"""
LINE = "    hidden = F.relu(first(X[rows])).detach()  # features\n"
GOOD = LINE.replace(".detach()", "")
DIFF = "--- a/train.py\n+++ b/train.py\n@@ -9 +9 @@\n-{}+{}"


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TRAINDX_CASES", "off")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    path = tmp_path / "train.py"
    path.write_text(CUT)
    return path


def test_a_diff_is_applied_where_it_fits(script: Path) -> None:
    assert applied(DIFF.format(LINE, GOOD), script.parent) == {"train.py": CUT.replace(LINE, GOOD)}
    moved = DIFF.format(LINE, GOOD).replace("@@ -9 +9 @@", "@@ -4 +4 @@")
    assert applied(moved, script.parent) == {"train.py": CUT.replace(LINE, GOOD)}


def test_a_plain_diff_of_two_files_changes_the_first(script: Path) -> None:
    (script.parent / "other.py").write_text(CUT.replace(LINE, GOOD))
    diff = DIFF.format(LINE, GOOD).replace("a/train.py", "train.py\t2026-01-01 00:00").replace("b/train.py", "other.py")
    assert applied(diff, script.parent) == {"train.py": CUT.replace(LINE, GOOD)}


@pytest.mark.parametrize(
    "diff",
    [
        DIFF.format("    another line\n", GOOD),
        DIFF.format(LINE, GOOD).replace("b/train.py", "b/../outside.py"),
        DIFF.format(LINE, GOOD).replace("b/train.py", "b/missing.py"),
    ],
)
def test_what_does_not_fit_or_lies_outside_is_refused(script: Path, diff: str) -> None:
    (script.parent.parent / "outside.py").write_text(CUT)
    with pytest.raises(TraindxError):
        applied(diff, script.parent)


def test_a_patch_is_proven_or_what_still_fails_is_said(script: Path) -> None:
    patch, said = script.parent / "p.diff", script.parent / "said.json"
    options = ["--seeds", "2", "--quiet", "--json", str(said), "train.py"]
    patch.write_text(DIFF.format(LINE, GOOD))
    assert main(["trial", "--patch", str(patch), *options]) == 0
    good = json.loads(said.read_text())
    assert good["best"] == "your-change"
    assert good["brief"]["line"] == "train.py:9"
    patch.write_text(DIFF.format(LINE, LINE.replace("features", "hidden features")))
    assert main(["trial", "--patch", str(patch), *options]) == 0
    bad = json.loads(said.read_text())
    assert bad["best"] is None
    assert any(note.startswith("Still failing: no-gradient") for note in bad["notes"])
    assert script.read_text() == CUT


def test_a_patch_that_hides_one_sign_of_a_fault_removes_nothing() -> None:
    seen = ("no-gradient", "unchanged-weights", "flat-from-start")
    page = diagnose(Run("", "recording"))
    first = replace(page.hypotheses[0], cause="detached-graph", fix=fixes()["keep-graph-attached"].proposal({}))
    candidate = candidate_of({"train.py": ""}, replace(page, hypotheses=(first,)))
    present = [one for one in seen if one in candidate.clears]
    assert {"no-gradient", "unchanged-weights"} <= set(present)
    assert not repaired(candidate, present, ["no-gradient"])
    assert repaired(candidate, present, present)


HAND = """
import json, pathlib, sys
brief = json.load(sys.stdin)
name, _, line = brief["line"].rpartition(":")
path = pathlib.Path(name)
lines = path.read_text().splitlines(keepends=True)
lines[int(line) - 1] = lines[int(line) - 1].replace(".detach()", "" if brief["attempts"] else ".detach() * 1")
path.write_text("".join(lines))
"""


def test_a_command_of_the_users_is_asked_until_its_patch_is_proven(
    script: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("traindx.trials.fixing.plan", lambda *given: [])  # as if no edit of ours fitted
    (script.parent / "hand.py").write_text(HAND)
    said, brief = script.parent / "said.json", script.parent / "brief.json"
    command = ["fix", "--with", f"{sys.executable} {script.parent / 'hand.py'}", "--seeds", "2", "--quiet"]
    main([*command, "--json", str(said), "--brief", str(brief), "train.py"])
    found = json.loads(said.read_text())
    assert "+    hidden = F.relu(first(X[rows]))  # features" in found["diff"]
    assert any(note.startswith("Round 1:") for note in found["notes"])
    assert script.read_text() == CUT
    assert main(["check", "--expects", str(brief), "--quiet", "train.py"]) == 1
    script.write_text(CUT.replace(LINE, GOOD))
    assert main(["check", "--expects", str(brief), "--quiet", "train.py"]) == 0
