"""The session that docs/interview.md shows asks what is asked today."""

from __future__ import annotations

import re
from pathlib import Path

from traindx.questions import questions

PAGE = Path(__file__).resolve().parents[2] / "docs" / "interview.md"
CHOICE = re.compile(r"^ {3,4}(\d+)  (\S.*(?:\n {7}\S.*)*)", re.MULTILINE)


def test_the_session_of_the_page_shows_the_choices_of_today() -> None:
    known = {choice.text for question in questions().values() for choice in question.choices}
    session = PAGE.read_text("utf-8").split("```")[3]
    shown = [" ".join(text.split()) for _, text in CHOICE.findall(session)]
    assert len(shown) > 20
    assert set(shown) <= known
