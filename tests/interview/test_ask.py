"""`traindx ask` as a user meets it: on a terminal, with a file of answers, with a sentence."""

from __future__ import annotations

import json
import os
import pty
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from keyboard import heeds_ctrl_c
from traindx.cli import main
from traindx.cli.dialogue import Dialogue
from traindx.interview import start

EXAMPLES = Path(__file__).parents[2] / "examples"
SCRIPT = "opt = torch.optim.SGD(model.parameters(), lr=0.1)\nfor x in data:\n    loss(x).backward()\n    opt.step()\n"


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def talk(*lines: str) -> tuple[Dialogue, list[str], bool]:
    """A dialogue with these lines typed into it, what it showed, and whether it came to its own end."""
    typed: Iterator[str] = iter(lines)
    shown: list[str] = []
    dialogue = Dialogue(start(), lambda: next(typed, None), shown.append)
    return dialogue, shown, dialogue.hold()


def test_a_dialogue_takes_numbers_words_and_not_knowing() -> None:
    dialogue, _, finished = talk("4 6", "d", "")
    assert not finished
    answers = dialogue.session.answers
    assert answers["symptoms"] == ("swings", "diverged")
    assert list(answers.values())[1:] == [None, None]


def test_a_question_mark_says_what_the_question_is_for() -> None:
    _, shown, _ = talk("?", "q")
    assert any("short list of causes" in line for line in shown)


def test_back_asks_the_question_before_again() -> None:
    dialogue, shown, _ = talk("7", "b", "1", "q")
    assert sum(line.startswith("1. What do you see") for line in shown) == 2
    assert dialogue.session.answers["symptoms"] == ("flat",)


def test_so_far_shows_the_ranking() -> None:
    _, shown, _ = talk("7", "s", "q")
    assert any(line.strip().startswith("so far: ") and "%" in line for line in shown)


@pytest.mark.parametrize("typed", ["1 5", "1, 5", "1 and 5", "1, and 5", "5+1", "1 & 5."])
def test_numbers_are_taken_however_they_are_joined(typed: str) -> None:
    dialogue, _, _ = talk(typed, "q")
    assert dialogue.session.answers["symptoms"] == ("flat", "spikes")


def test_help_and_back_at_the_first_question_do_not_print_the_list_again() -> None:
    _, shown, _ = talk("help", "b", "q")
    text = " ".join(" ".join(shown).split())
    assert text.count("What do you see?") == 1
    assert "this is the first question" in text
    assert text.count("stop here") == 2


def test_a_described_symptom_needs_only_enter_to_go_on() -> None:
    dialogue, shown, _ = talk("my loss is stuck and sometimes it explodes", "", "q")
    assert any("press Enter to go on" in line for line in shown)
    assert dialogue.session.said == ("flat", "diverged")
    assert any(line.startswith("2. ") for line in shown)


def test_what_is_out_of_scope_does_not_lead_on_as_if_it_were_not() -> None:
    _, shown, _ = talk("7", "CUDA out of memory", "q")
    assert "something is wrong with learning too: " in " ".join(" ".join(shown).split())


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("which optimizer should I use", "rarely what is broken"),
        ("more epochs", "more epochs of nothing"),
        ("just tune randomly", "compares broken runs"),
        ("quick fix", "a diagnosis half a minute"),
        ("try lr 0.001", "measured in 200 steps"),
        ("CUDA out of memory", "go to: memory"),
        ("blah blah", "was not understood"),
        ("99", "was not understood"),
    ],
)
def test_pressure_at_a_prompt_is_answered_and_the_question_stands(said: str, expected: str) -> None:
    dialogue, shown, _ = talk(said, "7", "q")
    assert expected in " ".join(" ".join(shown).split())
    assert dialogue.session.answers["symptoms"] == ("nan",)


def test_a_file_of_answers_replaces_the_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "answers.yaml").write_text(
        "symptoms: [swings, diverged]\noptimizer: sgd\nlearning-rate: 5\nprecision: null\n"
    )
    assert main(["ask", "--answers", "answers.yaml", "--json", "out.json"]) == 0
    page = capsys.readouterr().out
    assert "lr-too-high" in page
    assert "Nothing was measured" in page
    told = json.loads((tmp_path / "out.json").read_text())
    assert told["schema"] == "traindx.interview/1"
    assert told["diagnosis"]["schema"] == "traindx.diagnosis/1"
    assert told["session"]["answers"]["learning-rate"] == 5
    assert told["question"]["choices"]


def test_answers_may_name_run_script_and_config(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "train.py").write_text(SCRIPT)
    (tmp_path / "config.yaml").write_text("weight_decay: 0.5\n")
    document = {
        "run": str(EXAMPLES / "sick"),
        "script": "train.py",
        "config": "config.yaml",
        "says": "it diverges",
        "answers": {"precision": "fp32"},
    }
    (tmp_path / "answers.json").write_text(json.dumps(document))
    assert main(["ask", "--answers", "answers.json", "--json", "-"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert told["diagnosis"]["verdict"] == "unhealthy"
    assert told["session"]["settings"] == {"weight_decay": 0.5}
    assert told["session"]["said"] == ["diverged"]
    assert any("train.py:3" in symptom["evidence"] for symptom in told["diagnosis"]["symptoms"])


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("{", "neither JSON nor YAML"),
        ("[1, 2]", "holds no answers"),
        ('{"answers": 3}', "no mapping"),
        ('{"nonsense": "x"}', "no question 'nonsense'"),
        ('{"precision": "fp64"}', "no answer to precision"),
        ('{"run": "gone.csv"}', "gone.csv does not exist"),
    ],
)
def test_bad_answers_are_refused_in_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str, expected: str
) -> None:
    (tmp_path / "answers.json").write_text(content)
    assert main(["ask", "--answers", "answers.json"]) == 2
    told = capsys.readouterr().err
    assert expected in told
    assert len(told.splitlines()) == 1


def test_without_a_terminal_it_asks_for_answers(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ask"]) == 2
    assert "--answers" in capsys.readouterr().err
    assert main(["ask", "gone.csv"]) == 2
    assert main(["ask", "--resume"]) == 2
    assert main([]) == 0
    assert "Usage: traindx" in capsys.readouterr().out


def test_a_sentence_is_answered(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ask", "which optimizer should I use?"]) == 0
    told = capsys.readouterr().out
    assert "30-second check" in told
    assert "%" not in told
    assert main(["ask", "DataLoader worker exited unexpectedly"]) == 0
    told = capsys.readouterr().out
    assert "not a problem of learning" in told
    assert "num_workers=0" in told
    assert main(["ask", "my", "loss", "is", "NaN"]) == 0
    told = capsys.readouterr().out
    assert "nonfinite-loss" in told
    assert "INCONCLUSIVE" in told
    assert "Next" in told


def test_a_sentence_that_says_nothing_is_not_diagnosed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ask", "the weather is nice"]) == 2
    assert "not understood" in capsys.readouterr().err
    assert main(["ask", "x" * 5000]) == 2


def test_a_run_needs_no_answers(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ask", str(EXAMPLES / "sick"), "it diverges"]) == 1
    page = capsys.readouterr().out
    assert "rose for good" in page
    assert "swung" in page
    assert "traindx ask" not in page


class Terminal:
    """A program on a pseudo-terminal."""

    def __init__(self, *arguments: str) -> None:
        self.ours, theirs = pty.openpty()
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "TERM": "dumb", "COLUMNS": "100"}
        self.child = subprocess.Popen(
            [sys.executable, "-m", "traindx", *arguments], stdin=theirs, stdout=theirs, stderr=theirs, env=environment,
            close_fds=True, preexec_fn=heeds_ctrl_c,
        )  # fmt: skip
        os.close(theirs)

    def until(self, mark: str, seconds: float = 60) -> str:
        text, end = "", time.monotonic() + seconds
        while mark not in text and time.monotonic() < end:
            ready, _, _ = select.select([self.ours], [], [], 0.2)
            if ready:
                try:
                    piece = os.read(self.ours, 65536)
                except OSError:  # how Linux reports that the other side is closed
                    break
                if not piece:
                    break
                text += piece.decode(errors="replace")
        return text

    def type(self, line: str) -> None:
        os.write(self.ours, f"{line}\n".encode())

    def end(self) -> int:
        try:
            return self.child.wait(30)
        finally:
            self.child.kill()
            os.close(self.ours)


def test_no_arguments_on_a_terminal_begin_the_interview_and_it_can_be_resumed(tmp_path: Path) -> None:
    terminal = Terminal()
    assert "What do you see?" in terminal.until("\r\n> ")
    terminal.type("7")
    assert "2. " in terminal.until("\r\n> ")
    terminal.type("q")
    assert ".traindx-ask.json" in terminal.until("[y/N]")
    assert not (tmp_path / ".traindx-ask.json").exists()
    terminal.type("y")
    assert "nonfinite-loss" in terminal.until("Next")
    terminal.until("nothing more")
    assert terminal.end() == 0
    kept = json.loads((tmp_path / ".traindx-ask.json").read_text())
    assert kept["answers"] == {"symptoms": ["nan"]}
    again = Terminal("ask", "--resume")
    shown = again.until("\r\n> ")
    assert "What do you see?" not in shown
    assert "2. " in shown
    again.type("q")
    again.until("[y/N]")
    again.type("n")
    again.until("nothing more")
    assert again.end() == 0


def test_pressure_on_a_terminal_leads_to_the_question_for_symptoms() -> None:
    terminal = Terminal("ask", "quick fix please")
    shown = terminal.until("\r\n> ")
    assert "30-second check" in shown
    assert "What do you see?" in shown
    terminal.type("q")
    terminal.until("nothing more")
    assert terminal.end() == 0


def test_a_named_state_file_is_kept_after_every_answer(tmp_path: Path) -> None:
    terminal = Terminal("ask", "--state", "mine.json")
    terminal.until("\r\n> ")
    terminal.type("1")
    terminal.until("2. ")
    assert json.loads((tmp_path / "mine.json").read_text())["answers"] == {"symptoms": ["flat"]}
    terminal.until("\r\n> ", 5)
    terminal.type("\x04")  # end of input
    terminal.until("Next")
    terminal.until("nothing more")
    assert terminal.end() == 0
