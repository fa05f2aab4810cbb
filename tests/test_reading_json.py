"""A reading travels as JSON, which has no NaN: what was not finite must come back, and must not stop the page."""

from __future__ import annotations

import json
import math

from traindx.reading import Chart, Line, Mark, Reading


def test_a_reading_of_a_broken_model_comes_back() -> None:
    lines = (
        Line("norm", (0.0, 1.0), (math.nan, 2.0), error=(math.inf, 0.1)),
        Line("plain", (0.0,), (1.0,), error=(0.5,)),
    )
    chart = Chart("flow", "layer", "norm", lines, (Mark(math.nan, "nowhere"), Mark(1.0, "here")))
    reading = Reading("gradients", "NaN", values={"grad_norm": math.nan, "grad_norm/fc": 0.5}, charts=(chart,))
    back = Reading.from_json(json.loads(json.dumps(reading.to_json(), allow_nan=False)))
    assert math.isnan(back.values["grad_norm"])
    assert back.values["grad_norm/fc"] == 0.5
    assert back.charts[0].lines[0].y == (None, 2.0)
    assert back.charts[0].lines[0].error is None
    assert back.charts[0].lines[1].error == (0.5,)
    assert [mark.label for mark in back.charts[0].marks] == ["here"]
