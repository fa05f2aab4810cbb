"""A change on top of another: when it is tried, what it is compared with, and how both are told."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("libcst")

from traindx.diagnosis import Diagnosis, Hypothesis, Observation, RunSummary
from traindx.trials.executors import Local
from traindx.trials.further import further, left_after
from traindx.trials.measure import Measured
from traindx.trials.outcome import Arm
from traindx.trials.plan import Candidate, plan
from traindx.trials.report import Report, render
from traindx.trials.session import Limits, Session
from traindx.trials.setting import combined
from traindx.trials.workspace import Project

SCRIPT = """\
import torch
model = torch.nn.Sequential(torch.nn.Linear(8, 2), torch.nn.Softmax(dim=1))
opt = torch.optim.SGD(model.parameters(), lr=0.2)
for x, y in batches:
    loss = torch.nn.functional.cross_entropy(model(x), y)
    loss.backward()
    opt.step()
"""
SEEN = {"missing-zero-grad": "gradients-not-cleared", "softmax-before-cross-entropy": "probabilities-as-logits"}
Errors = Callable[[str], float]


def page_with(*causes: str) -> Diagnosis:
    seen = tuple(Observation(one, "present" if c in causes else "absent", "") for c, one in SEEN.items())
    told = tuple(Hypothesis(cause, cause, 0.98) for cause in causes)
    run = RunSummary("train.py", "recording", "train.py", 100, (), {})
    return Diagnosis("unhealthy" if causes else "healthy", "", run, seen, told[:1], (), "", "0", also=told[1:])


def session_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Errors) -> tuple[Session, list[str]]:
    """Arms with these errors by what is changed; a fault is gone where its change is made."""
    made: list[str] = []

    def arm(change: str) -> Arm:
        causes = [cause for cause, name in zip(SEEN, ("zero_grad", "logits"), strict=True) if name not in change]
        rows = np.array([[step, error(change), 0.0, 8.0] for step in range(40)])
        return Arm(page_with(*causes), Measured({"val/log loss": rows}, 0.0, {}, {}, 40, 1.0, "end"))

    def need(session: Session, wanted: Sequence[tuple[Candidate | None, int]]) -> None:
        for candidate, seed in wanted:
            change = "" if candidate is None else candidate.change
            made.append(change)
            session._arms[change, seed] = arm(change)

    monkeypatch.setattr(Session, "_need", need)
    session = Session(Project(tmp_path, tmp_path), ["x"], Local(1), Limits(), lambda text: None)
    session._need([(None, 0)])
    return session, made


def go_on(session: Session, root: Path, first: Diagnosis) -> None:
    """As `traindx fix` does it."""
    script = root / "train.py"
    script.write_text(SCRIPT)

    def planned(page: Diagnosis, on: Candidate | None = None) -> list[Candidate]:
        return [one for one in plan(page, root, script, [], 100, on) if one.fix in ("call-zero-grad", "pass-logits")]

    session.screen(planned(first))
    session.confirm()
    further(session, first, planned, lambda page, candidate, power: None, 1)


def test_a_second_fault_gets_its_fix_on_top_of_the_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    errors = {"": 4.0, "zero_grad": 0.5, "logits": 3.9, "zero_grad + logits": 0.1}
    session, _ = session_of(tmp_path, monkeypatch, lambda change: errors[change])
    first = page_with(*SEEN)
    go_on(session, tmp_path, first)
    best = session.best
    assert best is not None
    assert [one.fix for one in best.candidate.chain] == ["call-zero-grad", "pass-logits"]
    assert best.effect is not None
    assert best.effect.before == pytest.approx(0.5)  # compared with the training that has the first change
    assert best.cleared == ("probabilities-as-logits",)
    together = session.against_the_script(best.candidate)
    assert together.effect is not None
    assert (together.effect.before, together.seeds) == (pytest.approx(4.0), 3)
    assert set(SEEN.values()) <= set(together.cleared)
    text = best.candidate.written["train.py"]
    assert "Softmax" not in text
    assert "opt.zero_grad()" in text
    job = session.job(best.candidate, 0)
    assert (job.settings, job.edits) == ((), best.candidate.written)

    report = Report("train.py", first, tuple(session.trials.values()), best, "", together=together)
    document = report.to_json()
    assert document["best"] == "call-zero-grad + pass-logits"
    assert document["together"]["effect"]["before"] == pytest.approx(4.0)
    assert [trial["on"] for trial in document["trials"] if trial["fix"] == "pass-logits"][-1] == ["call-zero-grad"]
    shown = " ".join(render(report, color=False, width=100).split())
    assert "2 FIXES HELP" in shown
    assert "+ on top of zero_grad, and compared with that" in shown
    assert "together beside the unchanged script: validation log loss 4 → 0.1" in shown
    assert "Together, beside the unchanged script" in report._repr_html_()


def test_two_faults_that_each_lose_the_training_are_mended_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session, _ = session_of(tmp_path, monkeypatch, lambda change: 0.1 if "+" in change else math.inf)
    go_on(session, tmp_path, page_with(*SEEN))
    assert session.best is not None
    assert len(session.best.candidate.chain) == 2
    assert {t.verdict for t in session.trials.values() if t.candidate.on is None} == {"no-effect"}


def test_what_adds_nothing_is_not_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    errors = {"": 4.0, "zero_grad": 0.1, "logits": 3.9, "zero_grad + logits": 0.2}
    session, made = session_of(tmp_path, monkeypatch, lambda change: errors[change])
    go_on(session, tmp_path, page_with(*SEEN))
    assert "zero_grad + logits" in made
    assert session.best is not None
    assert session.best.candidate.change == "zero_grad"


def test_nothing_is_tried_on_top_where_nothing_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    session, made = session_of(tmp_path, monkeypatch, lambda change: 0.1 if "zero_grad" in change else 4.0)
    first = page_with("missing-zero-grad")
    monkeypatch.setattr(Session, "pages", lambda *_: [page_with(), page_with()])
    go_on(session, tmp_path, first)
    assert session.best is not None
    assert not any("+" in change for change in made)


def test_a_faster_step_is_no_second_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    session, made = session_of(tmp_path, monkeypatch, lambda change: 0.1 if "zero_grad" in change else 4.0)
    first = Candidate("call-zero-grad", "", "missing-zero-grad", combined("zero_grad"))
    softmax = "softmax-before-cross-entropy"
    second = Candidate("add-workers", "", softmax, combined("workers=2"), judged="speed", on=first)
    session.screen([first])
    session.confirm()
    further(session, page_with(*SEEN), lambda page, on: [second], lambda page, candidate, power: None, 1)
    assert session.best is not None
    assert (session.best.candidate, second.change in made) == (first, False)


def test_left_is_what_every_seed_shows_and_was_not_treated() -> None:
    change = Candidate("call-zero-grad", "", "missing-zero-grad", combined("zero_grad"))
    first, softmax = page_with(*SEEN), page_with("softmax-before-cross-entropy")
    assert list(left_after(change, first, [softmax, softmax])) == ["softmax-before-cross-entropy"]
    assert not left_after(change, first, [softmax, page_with()])
    assert not left_after(change, first, [])
    again = page_with("missing-zero-grad")
    assert list(left_after(change, first, [again])) == ["missing-zero-grad"]  # still plainly to be seen


def test_a_change_at_run_time_below_an_edit_leaves_no_diff(tmp_path: Path) -> None:
    inside = Candidate("use-log-space", "", "log-of-zero", combined("log_space"))
    edit = Candidate("lower-lr", "", "lr-too-high", combined("lr=x0.1"), edits={"train.py": "lr"}, on=inside)
    assert (edit.written, edit.inside, dict(edit.sources)) == ({}, inside.settings, {"train.py": "lr"})
    below = Candidate("lower-lr", "", "lr-too-high", combined("lr=x0.1"), edits={"train.py": "lr"})
    top = Candidate("use-log-space", "", "log-of-zero", combined("log_space"), on=below)
    assert (dict(top.written), top.inside, top.change) == ({"train.py": "lr"}, top.settings, "lr=x0.1 + log_space")
