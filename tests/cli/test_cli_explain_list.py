"""`traindx explain` and `traindx list`: every unit has a page, wrong ids get a suggestion."""

from __future__ import annotations

import json

import pytest

from traindx.causes import causes
from traindx.cli import main
from traindx.fixes import fixes
from traindx.reporters.catalogue import suggestion
from traindx.symptoms import symptoms


def test_every_unit_has_a_page(capsys: pytest.CaptureFixture[str]) -> None:
    for identifier in {*symptoms(), *causes(), *fixes()}:
        assert main(["explain", identifier]) == 0
        assert f"`{identifier}`" in capsys.readouterr().out


def test_an_id_in_two_lists_shows_both_pages(capsys: pytest.CaptureFixture[str]) -> None:
    both = set(symptoms()) & set(causes())
    assert both
    for identifier in both:
        assert main(["explain", identifier]) == 0
        out = capsys.readouterr().out
        assert f"Symptom `{identifier}`" in out
        assert f"Cause `{identifier}`" in out


def test_spelling_is_forgiven(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "LR", "too", "high"]) == 0
    assert main(["explain", "lr_too_high"]) == 0
    assert capsys.readouterr().out.count("Cause `lr-too-high`") == 2


def test_wrong_id_exits_two_with_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "lr-to-high"]) == 2
    captured = capsys.readouterr()
    assert "lr-too-high" in captured.err
    assert captured.out == ""
    assert main(["explain", "zzzzqqqq"]) == 2
    assert "traindx list" in capsys.readouterr().err


def test_what_people_say_is_answered(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "I need more epochs"]) == 0
    out = capsys.readouterr().out
    assert "usually:" in out
    assert "how to tell:" in out


def test_suggestions_go_by_spelling_and_by_words() -> None:
    titles = {"lr-too-high": "learning rate too high", "dead-relu": "units that never fire"}
    assert "lr-too-high" in suggestion("lr-to-hihg", titles)
    assert "dead-relu" in suggestion("my units never fire", titles)


def test_terminal_gets_rendered_markdown(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    assert main(["explain", "lr-too-high"]) == 0
    out = capsys.readouterr().out
    assert "## " not in out
    assert "What you see" in out


def test_list_shows_everything(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list"]) == 0
    out = capsys.readouterr().out
    assert all(f"    {identifier} " in out for identifier in {*symptoms(), *causes(), *fixes()})
    assert main(["list", "causes"]) == 0
    assert "lower-lr" not in capsys.readouterr().out


def test_list_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "--format", "json"]) == 0
    assert set(json.loads(capsys.readouterr().out)) == {"symptoms", "causes", "fixes"}
    assert main(["list", "fixes", "-f", "json"]) == 0
    assert {entry["id"] for entry in json.loads(capsys.readouterr().out)} == set(fixes())


def test_list_of_nothing_known_exits_two(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "diseases"]) == 2
    assert "symptoms" in capsys.readouterr().err
