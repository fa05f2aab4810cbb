"""`traindx fix` on a script of two seconds, as a user runs it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from traindx.cli import main
from traindx.diagnosis import Diagnosis, Hypothesis, Observation, RunSummary
from traindx.trials.plan import Candidate, plan, with_a_symptom
from traindx.trials.setting import combined

pytest.importorskip("torch")
pytest.importorskip("libcst")

SCRIPT = """\
import argparse
import torch

parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, default=30)
args = parser.parse_args()
torch.manual_seed(0)
x = torch.randn(256, 8)
y = (x[:, 0] + x[:, 1] > 0).long()
model = torch.nn.Sequential(torch.nn.Linear(8, 32), torch.nn.ReLU(), torch.nn.Linear(32, 2))
opt = torch.optim.SGD(model.parameters(), lr=0.2, momentum=0.9)
for epoch in range(args.epochs):
    for i in torch.randperm(256).split(32):
        loss = torch.nn.functional.cross_entropy(model(x[i]), y[i])
        loss.backward()
        opt.step()
    open("log.txt", "a").write(f"{loss.item()}\\n")
"""


def test_a_missing_zero_grad_is_found_proven_and_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    script = tmp_path / "train.py"
    script.write_text(SCRIPT)
    code = main(
        [
            "fix",
            "--seeds",
            "2",
            "--write",
            "--yes",
            "--json",
            "out.json",
            "-o",
            "out.html",
            "train.py",
            "--epochs",
            "20",
        ]
    )
    page = capsys.readouterr()
    assert code == 1, page.err
    document = json.loads((tmp_path / "out.json").read_text())
    assert document["schema"] == "traindx.fix/1"
    assert document["best"] == "call-zero-grad"
    best = document["trials"][0]
    assert best["verdict"] == "helped"
    assert best["effect"]["after"] < best["effect"]["before"] / 2
    assert "gradients-not-cleared" in best["cleared"]
    assert best["seeds"] >= 2
    assert set(document) == {"schema", "diagnosis", "trials", "best", "diff", "together", "brief", "notes"}
    assert set(best) == {
        "fix",
        "cause",
        "verdict",
        "basis",
        "effect",
        "cleared",
        "steps",
        "seeds",
        "change",
        "note",
        "cost",
        "side_effects",
        "on",
    }
    assert set(best["effect"]) == {"metric", "before", "after", "interval"}
    assert "+        opt.zero_grad()" in document["diff"]
    assert "opt.zero_grad()" in script.read_text()
    assert not (tmp_path / "log.txt").exists()  # outputs went to the trials' own directories
    assert main(["fix", "--undo"]) == 0
    assert script.read_text() == SCRIPT
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.html", "out.json", "train.py"]
    shown = (tmp_path / "out.html").read_text(encoding="utf-8")
    assert '<span class="added">+        opt.zero_grad()</span>' in shown
    assert ">helped</span>" in shown


def test_a_change_of_ones_own_is_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text(SCRIPT.replace("loss.backward()", "opt.zero_grad(); loss.backward()"))
    assert main(["trial", "-q", "train.py", "--set", "lr=x0.0001", "--seeds", "3", "--steps", "60"]) == 0
    page = capsys.readouterr().out
    assert "lr=x0.0001" in page
    assert "worse" in page
    assert main(["trial", "train.py", "--set", "colour=blue"]) == 2
    assert "nothing a trial can set" in capsys.readouterr().err


def test_a_healthy_script_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text(
        SCRIPT.replace("loss.backward()", "opt.zero_grad(); loss.backward()").replace("0.2", "0.05")
    )
    assert main(["fix", "train.py"]) == 0
    assert "Nothing to fix" in capsys.readouterr().out


def test_a_script_that_cannot_be_trialled_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text(f"import torch\nopen({str(tmp_path / 'mine.txt')!r}, 'w')\n")
    assert main(["fix", "train.py"]) == 2
    assert "outside the trial's own copy" in capsys.readouterr().err
    assert not (tmp_path / "mine.txt").exists()


def test_confirmed_cases_shift_the_diagnosis_inside_fix_as_they_do_in_diagnose(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from traindx.casebook.case import case_of
    from traindx.casebook.store import CaseBook
    from traindx.engine import diagnose
    from traindx.run import Run

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TRAINDX_CASES", str(tmp_path / "book.sqlite"))
    sick = SCRIPT.replace("loss.backward()", "opt.zero_grad(); loss.backward()").replace("lr=0.2", "lr=20.0")
    (tmp_path / "train.py").write_text(sick)
    book = CaseBook(tmp_path / "book.sqlite")
    command = ["fix", "-q", "--steps", "40", "--seeds", "2", "--budget", "15", "--json", "out.json", "train.py"]
    assert main(command) == 1
    assert "Case book:" not in capsys.readouterr().out
    first = book.get(1)
    assert (first.made_by, bool(first.trials)) == ("fix", True)
    causes = [cause for cause, share in first.hypotheses if cause not in ("healthy", "other") and share < 0.9]
    for number in range(3):
        old = replace(case_of(diagnose(Run(f"other{number}", "recording")), "run"), status="confirmed", cause=causes[1])
        book.remember(old)
    main(["fix", "-q", "--steps", "30", "--budget", "1", "--json", "out.json", "train.py"])  # the diagnosis is enough
    page = " ".join(capsys.readouterr().out.split())
    assert f"confirmed cases shift {causes[1]}" in page
    assert "undo with: traindx cases --no-prior" in page
    notes = json.loads((tmp_path / "out.json").read_text())["diagnosis"]["notes"]
    assert any("confirmed cases shift" in note for note in notes)
    assert main(["cases", "--no-prior"]) == 0


def test_an_open_diagnosis_asks_for_probes_which_add_to_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from traindx.trials.fixing import Asked, is_open

    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text(SCRIPT.replace("loss.backward()", "opt.zero_grad(); loss.backward()"))
    session = Asked(["train.py"], steps=40, budget=60).session(lambda text: None)
    first = session.baseline().page
    page = session.probed()
    assert first is not None
    assert page is not None
    known = {symptom.id for symptom in first.symptoms if symptom.state != "unknown"}
    assert {
        symptom.id for symptom in page.symptoms if symptom.state != "unknown"
    } > known  # nothing lost, something learnt
    sure, unsure = (replace(page, hypotheses=_shares(page, *shares)) for shares in ((0.8, 0.1), (0.5, 0.4)))
    assert is_open(unsure)
    assert not is_open(sure)
    assert not (tmp_path / "log.txt").exists()


def _shares(page: Diagnosis, *shares: float) -> tuple[Hypothesis, ...]:
    return tuple(replace(page.hypotheses[0], confidence=share) for share in shares)


def test_where_nothing_is_settled_only_what_can_clear_a_symptom_is_tried() -> None:
    run = RunSummary("x", "recording", "x", 10, (), {})
    seen = (
        Observation("slow-convergence", "present", "It is slow."),
        Observation("divergence", "absent", "It is not."),
    )
    page = Diagnosis("inconclusive", "", run, seen, (), (), "", "0")
    slow = Candidate("raise-lr", "", "lr-too-low", combined("lr=x10"), clears=("slow-convergence",))
    wild = Candidate("lower-lr", "", "lr-too-high", combined("lr=x0.1"), clears=("divergence",))
    assert with_a_symptom([slow, wild], page) == [slow]


def test_what_is_left_after_the_best_change_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from traindx.trials.fixing import _still_wrong
    from traindx.trials.outcome import Arm, Trial
    from traindx.trials.session import Session

    run = RunSummary("x", "recording", "x", 10, (), {})
    page = Diagnosis("unhealthy", "", run, (), (Hypothesis("lr-too-low", "rate too low", 0.9),), (), "", "0")
    monkeypatch.setattr(Session, "arm", lambda *_: Arm(page, None))
    session = Session.__new__(Session)
    for fix, cause, told in (
        ("pass-logits", "softmax-before-cross-entropy", "something else is left: rate too low (lr-too-low, 90 %)"),
        ("raise-lr", "lr-too-low", "still shows it"),
        ("your-change", "", "this is wrong: rate too low"),
    ):
        trial = Trial(Candidate(fix, "", cause, combined("lr=x10")), "helped", None, (), (), 3, 10)
        assert told in _still_wrong(session, trial)
    monkeypatch.setattr(Session, "arm", lambda *_: Arm(replace(page, verdict="healthy"), None))
    assert _still_wrong(session, trial) == ""


def test_mistakes_seen_beside_the_first_are_planned_for_too(tmp_path: Path) -> None:
    run = RunSummary("x", "recording", "x", 10, (), {})
    page = Diagnosis(
        "unhealthy", "", run, (), (Hypothesis("softmax-before-cross-entropy", "", 0.98),), (), "", "0",
        also=(Hypothesis("missing-zero-grad", "", 0.95),),
    )  # fmt: skip
    assert [one.fix for one in plan(page, tmp_path, None, [], 100)][:2] == ["pass-logits", "call-zero-grad"]


def test_a_cause_whose_own_sign_was_seen_is_tried_last_and_judged_by_the_error_alone(tmp_path: Path) -> None:
    run = RunSummary("x", "recording", "x", 10, (), {})
    seen = (Observation("initial-weights-small", "present", "They are small.", clarity=0.4),)
    page = Diagnosis("inconclusive", "", run, seen, (Hypothesis("lr-too-low", "", 0.3),), (), "", "0")
    found = plan(page, tmp_path, None, [], 100)
    assert found[0].cause == "lr-too-low"
    (inits,) = {(one.cause, one.clears[0], one.proofs) for one in found if one.fix == "default-init"}
    assert inits == ("init-too-small", "initial-weights-small", ())
