"""The picture of a cause: drawn from the examples of its symptoms, readable, small."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from traindx.causes import causes
from traindx.reporters.pictures import LETTERS, files, picture
from traindx.reporters.tokens import DARK, LIGHT, docs_style_sheet, style_sheet


@pytest.fixture(scope="module")
def drawn() -> dict[str, str]:
    return files()


def test_every_cause_has_a_picture_that_is_small(drawn: dict[str, str]) -> None:
    missing = {cause for cause in causes() if f"images/causes/{cause}.svg" not in drawn}
    assert missing == set()
    assert sum(map(len, drawn.values())) < 1_000_000


def test_pictures_are_well_formed_and_stay_in_their_frame(drawn: dict[str, str]) -> None:
    for path, svg in drawn.items():
        root = ElementTree.fromstring(svg)
        height = float(root.attrib["height"])
        texts = [one for one in root.iter() if one.tag.endswith("text")]
        assert texts, path
        assert all(0 < float(one.attrib["y"]) < height for one in texts), path
        assert all(len(one.text or "") <= LETTERS for one in texts), path


def test_same_catalogue_same_picture() -> None:
    one = causes()["overfitting"]
    assert picture(one) == picture(one)
    assert "val_loss was best at" in picture(one)


def _luminance(color: str) -> float:
    parts = [int(color[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("scheme", [LIGHT, DARK], ids=["light", "dark"])
def test_words_in_every_colour_can_be_read(scheme: dict[str, str]) -> None:
    for ink in ("ink", "soft", "accent", "bad", "warn", "good"):
        for paper in ("back", "card", "sunk"):
            light, dark = sorted((_luminance(scheme[ink]), _luminance(scheme[paper])), reverse=True)
            assert (light + 0.05) / (dark + 0.05) >= 4.5, (ink, paper)


def test_one_set_of_tokens_for_pages_and_docs() -> None:
    for color in (LIGHT["bad"], DARK["bad"]):
        assert color in style_sheet()
        assert color in docs_style_sheet()
