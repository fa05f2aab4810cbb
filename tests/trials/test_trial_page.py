"""How notebooks show a trial and a session."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from traindx.engine import diagnose
from traindx.run import Run
from traindx.trials.judge import effect_of
from traindx.trials.outcome import Trial
from traindx.trials.plan import Candidate
from traindx.trials.report import Report, render
from traindx.trials.setting import combined


def test_a_trial_and_a_report_show_themselves_and_escape_what_they_show() -> None:
    candidate = Candidate("lower-lr", "Lower <b>it</b>", "lr-too-high", combined("lr=x0.1"))
    effect = effect_of("validation log loss", 0.01, [(2.0, 0.5), (2.1, 0.4), (1.9, 0.5)])
    trial = Trial(candidate, "helped", effect, ("oscillation",), ("oscillation",), 3, 600)
    shown = trial._repr_html_()
    assert "HELPED" in shown
    assert "Lower &lt;b&gt;it&lt;/b&gt;: lr=x0.1" in shown
    assert "over 3 seeds; clears oscillation" in shown
    report = Report("train.py", diagnose(Run("train.py", "recording")), (trial,), trial, "--- a\n+++ <script>\n")
    page = report._repr_html_()
    assert "--- a\n+++ &lt;script&gt;" in page
    assert "traindx fix · train.py" in page


def test_a_fault_that_is_gone_is_not_told_as_a_smaller_error() -> None:
    candidate = Candidate("remove-softmax", "Take it away", "softmax-before-cross-entropy", combined("lr=x0.1"))
    effect = effect_of("validation log loss", 0.01, [(0.31, 0.3), (0.3, 0.31), (0.32, 0.31)])
    trial = Trial(candidate, "helped", effect, ("probabilities-as-logits",), ("probabilities-as-logits",), 3, 600)
    report = Report("train.py", diagnose(Run("train.py", "recording")), (trial,), trial, "")
    assert report.to_json()["trials"][0]["verdict"] == "helped"
    assert report.to_json()["trials"][0]["basis"] == "fault"
    page = " ".join(render(report, color=False, width=100).split())
    assert "A FIX REMOVES THE FAULT" in page
    assert "A FIX HELPS" not in page
    assert "fault gone" in page
    assert "the error is not shown to change: validation log loss" in page
    assert "fault gone" in report._repr_html_()
