"""Single samples of the training, a card each: a small picture or the first numbers, label, prediction and loss."""

from __future__ import annotations

import base64
from collections.abc import Sequence

import numpy as np

from traindx.measurements import ShownSample, ShownSamples
from traindx.reporters.html.markup import Html, tag
from traindx.reporters.html.png import picture_uri
from traindx.reporters.readouts import asked_for, given, heading, inputs, loss_of
from traindx.reporters.wording import clean

_SCALE = 4  # screen pixels a pixel of the picture
_SIDE = 24 * _SCALE


def samples(found: Sequence[ShownSamples]) -> Html | None:
    if not found:
        return None
    return tag(
        "section",
        tag("h2", "Samples"),
        tag("p", "Look at them: is the label right, is the input what you think it is?", class_="lead small"),
        [_batch(one) for one in found],
        class_="card",
    )


def _batch(found: ShownSamples) -> Html:
    return tag(
        "div",
        tag("h3", heading(found), tag("span", f" {clean(found.where)}", class_="soft small")),
        [
            tag("div", [_card(found, one) for one in found.samples if one.worst is worst], class_="samples")
            for worst in (True, False)
        ],
        class_="map",
    )


def _card(found: ShownSamples, sample: ShownSample) -> Html:
    kind = "worst" if sample.worst else "random"
    said = [f"{kind}, row {sample.row}", asked_for(found, sample), given(found, sample), loss_of(sample)]
    held = inputs(found, sample)
    return tag(
        "figure",
        _picture(sample),
        tag("figcaption", [tag("div", one) for one in said if one], tag("div", held, class_="soft") if held else None),
        class_=f"sample small {kind}",
    )


def _picture(sample: ShownSample) -> Html | None:
    if not sample.picture or len(sample.size) != 3:
        return None
    height, width, channels = sample.size
    pixels = np.frombuffer(base64.b64decode(sample.picture), np.uint8)
    if pixels.size != height * width * channels or channels not in (1, 3):
        return None
    largest = max(height, width)
    return tag(
        "img", src=picture_uri(pixels.reshape(height, width, channels)), alt=f"row {sample.row} of the batch",
        width=_SIDE * width // largest, height=_SIDE * height // largest,
    )  # fmt: skip
