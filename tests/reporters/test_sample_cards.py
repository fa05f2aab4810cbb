"""Single samples with label, prediction and loss: on the long page, in HTML with a picture, as JSON with and without
what the data holds."""

from __future__ import annotations

import base64
import json
from dataclasses import replace

import msgspec

from traindx.diagnosis import Diagnosis
from traindx.engine import diagnose
from traindx.measurements import Measured, ShownSample, ShownSamples
from traindx.reporters import reporters
from traindx.reporters.html.samples import samples
from traindx.reporters.text import render_all
from traindx.run import Run

WORST = ShownSample(
    row=3, worst=True, loss=4.2, label=(1.0,), prediction=(0.0,), probability=0.015, range=(-1.0, 0.1, 2.0), numbers=(),
    size=(2, 3, 1), picture=base64.b64encode(bytes([0, 50, 100, 150, 200, 255])).decode(),
)  # fmt: skip
RANDOM = WORST._replace(row=5, worst=False, loss=0.1, label=(2.0,), prediction=(2.0,), probability=0.9)


def batch(**changes: object) -> ShownSamples:
    given = {"labels": "class", "criterion": "cross_entropy", "samples": (WORST, RANDOM), **changes}
    return ShownSamples(seen=40, rows=64, looked_at=64, shape=(1, 28, 28), where="train.py:9", **given)  # type: ignore[arg-type]


def page(*found: ShownSamples) -> Diagnosis:
    run = Run("train.traindx", "recording")
    run.measured = [Measured(list(found))]
    return diagnose(run)


def test_the_last_look_at_a_loss_is_kept() -> None:
    assert [one.seen for one in page(batch(), replaced(batch(), 90), replaced(batch(), 10)).samples] == [90]


def replaced(one: ShownSamples, seen: int) -> ShownSamples:
    return msgspec.structs.replace(one, seen=seen)


def test_html_shows_pictures_and_what_was_made_of_them() -> None:
    html = str(samples([batch()]))
    assert html.count("data:image/png;base64,") == 2
    assert "worst, row 3" in html
    assert "random, row 5" in html
    assert "predicted 0 (1.5 % for the label)" in html
    assert "loss 4.2" in html
    assert samples([]) is None
    assert "Samples" in reporters()["html"].render([page(batch())], color=False, width=90)


def test_a_picture_that_does_not_fit_its_size_is_left_out() -> None:
    assert "<img" not in str(samples([batch(samples=(WORST._replace(size=(9, 9, 3)),))]))


def test_text_shows_them_in_the_long_page_only() -> None:
    found = page(batch(samples=(WORST._replace(picture="", size=(), numbers=(0.5, None), loss=None),)))
    text = reporters()["text"]
    assert "Highest losses" not in text.render([found], color=False, width=100)
    long = " ".join(render_all([found], color=False, width=100).split())
    assert "worst row 3: label 1, predicted 0 (1.5 % for the label), loss is not finite" in long
    assert "0.5 NaN or Inf" in long


def test_json_goes_both_ways_and_leaves_the_data_out_where_it_is_to_be_kept() -> None:
    found = page(batch())
    assert Diagnosis.from_json(json.loads(json.dumps(found.to_json(texts=True)))).samples == found.samples
    bare = found.to_json()["samples"][0]
    assert bare["private"]
    assert bare["samples"][0]["label"] == (1.0,)
    assert bare["samples"][0]["loss"] == 4.2
    assert not any(bare["samples"][0][name] for name in ("picture", "range", "numbers"))
    numbers = page(batch(labels="number")).to_json()["samples"][0]["samples"][0]
    assert numbers["label"] == numbers["prediction"] == ()
    assert replace(found, samples=()).to_json()["samples"] == []
