"""The HTML report as text: self-contained, under its policy, small, and true to the numbers."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from pathlib import Path

import numpy as np
import pytest
import reporter_samples as samples
from hypothesis import given
from hypothesis import strategies as st

from hostile import HOSTILE
from runs import run_of
from traindx.cli import main
from traindx.engine import diagnose
from traindx.reporters import reporters
from traindx.reporters.html import page
from traindx.reporters.html.heat import BROKEN, FIRST, MISSING, ZERO, heat_maps
from traindx.reporters.html.markup import Html, json_block, tag
from traindx.reporters.html.png import data_uri
from traindx.reporters.html.thinned import plain, thinned

OWN_SIZE = 1_000_000
SICK = Path(__file__).parents[2] / "examples" / "sick"


def data_in(text: str) -> dict[str, object]:
    found = re.search(r'<script type="application/json" id="run-data">(.*?)</script>', text, re.S)
    assert found is not None
    loaded: dict[str, object] = json.loads(found.group(1))
    return loaded


def test_markup_escapes_what_it_did_not_make() -> None:
    assert tag("b", "<i>", Html("<br>"), title='"x"') == '<b title="&quot;x&quot;">&lt;i&gt;<br></b>'
    assert tag("td", ["a", None, ("b", 3)], class_=None, hidden=True) == "<td hidden>ab3</td>"
    for name in HOSTILE:
        written = json_block("x", {"n": name}).removeprefix('<script type="application/json" id="x">')
        assert not set("<>&") & set(written.removesuffix("</script>"))
        assert json.loads(written.removesuffix("</script>")) == {"n": name}


def test_nothing_is_loaded_and_only_the_own_script_may_run() -> None:
    text = page(samples.unhealthy())
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', text)
    assert policy is not None
    for name in ("script", "style"):
        inside = re.search(rf"<{name}>(.*?)</{name}>", text, re.S)
        assert inside is not None
        digest = base64.b64encode(hashlib.sha256(inside.group(1).encode()).digest()).decode()
        assert f"{name}-src &#x27;sha256-{digest}&#x27;" in policy.group(1)
    assert "default-src &#x27;none&#x27;" in policy.group(1)
    assert not re.search(r"""(?:src|href)=["']?(?:https?:)?//""", text)
    assert not re.search(r'\sstyle="|\son[a-z]+="', text)  # the policy would refuse both
    assert len(text) < OWN_SIZE


def test_the_formats_know_it_and_the_ending_chooses_it(tmp_path: Path) -> None:
    assert main(["diagnose", str(SICK), "-o", str(tmp_path / "report.html")]) == 1
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert text.startswith("<!doctype html>")
    assert data_in(text)["panels"]
    assert reporters()["html"].illustrate is not None


def test_several_runs_come_worst_first(tmp_path: Path) -> None:
    text = reporters()["html"].render([samples.healthy(), samples.unhealthy()], color=False, width=100)
    assert text.index("UNHEALTHY") < text.index(">HEALTHY")
    assert text.count('type="application/json"') == 2


def test_a_healthy_page_says_it_once_and_then_what_the_run_reached() -> None:
    text = reporters()["html"].render([samples.healthy()], color=False, width=100)
    start = text.index('class="card hero')
    top = text[start : text.index("</header>", start)]
    assert top.count("No problem found") == 1
    assert "best" in top
    assert re.search(r"Confidence \d+ %\. \d+ checks? passed, \d+ could not run\.", text)
    assert "% healthy" not in text


def test_a_log_without_a_number_gets_no_explanations(tmp_path: Path) -> None:
    empty = tmp_path / "empty.csv"
    empty.write_text("step,train_loss,val_loss\n")
    assert main(["diagnose", str(empty), "-o", str(tmp_path / "page.html")]) == 0
    text = (tmp_path / "page.html").read_text()
    assert "No value of any objective was logged." in text
    assert "All explanations" not in text


def test_a_diagnosis_alone_still_has_its_curve() -> None:
    panels = data_in(page(samples.unhealthy()))["panels"]
    assert panels[0]["series"][0]["name"] == "train_loss"  # type: ignore[index]


@given(st.integers(0, 20_000), st.integers(0, 19_999), st.integers(10, 600))
def test_thinning_loses_no_spike(length: int, spike: int, columns: int) -> None:
    values = np.sin(np.arange(length) / 50)
    steps = np.arange(length, dtype=float)
    if spike < length:
        values[spike] = 1000.0
    small = thinned(steps, values, columns)
    assert len(small["x"]) <= max(2 * columns, columns)
    if length:
        top = max(small.get("hi", small["y"]))
        assert top == pytest.approx(1000.0 if spike < length else values.max(), rel=1e-5)
        assert min(small.get("lo", small["y"])) == pytest.approx(values.min(), abs=1e-5)


def test_thinning_marks_nan_and_cuts_windows() -> None:
    values = np.ones(10_000)
    values[5_000:5_010] = np.nan
    small = thinned(np.arange(10_000.0), values, 100)
    assert small["bad"][0] == 5_000
    window = thinned(np.arange(10_000.0), values, 100, 4_990, 5_005)
    assert len(window["x"]) <= 200
    assert window["x"][0] in (4_989, 4_990)
    assert None in window["y"]


@given(st.lists(st.floats(allow_nan=True, allow_infinity=True), max_size=20))
def test_numbers_keep_six_digits(values: list[float]) -> None:
    for before, after in zip(values, plain(np.array(values, dtype=float)), strict=True):
        if not np.isfinite(before):
            assert after is None
        else:
            assert after == pytest.approx(before, rel=6e-6, abs=1e-295)


def test_heat_maps_tell_missing_broken_and_zero_apart() -> None:
    run = run_of({
        "train_loss": np.ones(9),
        "grad_norm/a.weight": ([0, 1, 2], [1e-3, np.nan, 0.0]),
        "grad_norm/b.weight": ([0, 2], [1e-1, 1.0]),
    })  # fmt: skip
    (heat,) = heat_maps(run)
    assert heat.layers == ("a.weight", "b.weight")
    assert heat.codes.tolist()[0] == [FIRST, BROKEN, ZERO]
    assert heat.codes.tolist()[1][1] == MISSING
    assert heat.codes.tolist()[1][2] == 65535
    assert heat.ends == ("0.001", "1")
    assert "NaN or Inf first at step 1 in a.weight" in heat.summary()


def test_many_layers_share_rows_without_losing_the_largest() -> None:
    run = run_of({f"grad_norm/layer.{i}.weight": ([0, 1], [1.0, 1e6 if i == 777 else 1.0]) for i in range(1000)})
    (heat,) = heat_maps(run)
    assert len(heat.layers) <= 400
    assert heat.ends[1] == "1e6"
    row = int(np.argmax(heat.codes[:, 1]))
    assert "layer.77" in heat.layers[row]


def test_pictures_are_png() -> None:
    matplotlib = pytest.importorskip("matplotlib.image")
    import io

    pixels = np.arange(6, dtype=np.uint8).reshape(2, 3)
    palette = np.array([[i * 10, 0, 255 - i, 255] for i in range(6)], dtype=np.uint8)
    raw = base64.b64decode(data_uri(pixels, palette).split(",")[1])
    read = matplotlib.imread(io.BytesIO(raw))
    assert (read * 255).round().astype(int).tolist() == palette[pixels].tolist()


def test_the_issue_bundle_is_the_markdown_with_the_settings() -> None:
    text = page(samples.unhealthy())
    assert "## traindx: UNHEALTHY" in text
    assert "copy as issue" in text
    assert "lr = 0.01" in text


def test_an_empty_run_has_a_page(tmp_path: Path) -> None:
    run = run_of({"train_loss": []})
    text = page(diagnose(run), run)
    assert "INCONCLUSIVE" in text
    assert data_in(text)["heats"] == []


def test_the_confidence_says_how_it_has_held() -> None:
    text = page(samples.unhealthy())
    assert "Calibrated on" in text
    assert "Confidence and how often it was right" in text
