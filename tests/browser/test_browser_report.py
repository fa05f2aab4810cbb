"""The report in a real browser: it draws, zooms and tells; readers with a keyboard, a phone or a dark screen can use
it; and names from a log stay names."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from hostile import HOSTILE
from runs import run_of
from traindx.engine import diagnose
from traindx.reading import Chart, Line, Mark, Reading, Table
from traindx.reporters.html import page
from traindx.reporters.html.extras import Bin, Extras, Reliability, Section
from traindx.run import Event, Run

RNG = np.random.default_rng(0)


def recording(steps: int = 600, layers: int = 12) -> Run:
    """A training that diverges, with what a recorder sees of its layers."""
    place = np.arange(steps)
    loss = 2.0 * np.exp(-place / 60) + 0.05 + 0.02 * RNG.random(steps)
    loss[400:] += np.linspace(0, 30, steps - 400)
    looks = np.arange(0, steps, 40)
    series: dict[str, Any] = {"train_loss": loss, "lr": np.full(steps, 0.1), "val_loss": (looks, loss[looks] * 1.1)}
    for layer in range(layers):
        series[f"grad_norm/blocks.{layer}.weight"] = (looks, 10.0 ** (layer / 2 - 6) * (1 + RNG.random(len(looks))))
        series[f"dead/blocks.{layer}.act"] = (looks, RNG.random(len(looks)))
    return run_of(series, {"optimizer": "SGD", "lr": 0.1, "device": "cpu"})


def everything() -> Extras:
    chart = Chart(
        "loss by rate",
        "learning rate",
        "loss",
        (Line("loss", (1e-4, 1e-3, 1e-2), (2.0, 1.0, 3.0)),),
        (Mark(1e-3, "suggested"),),
        log_x=True,
    )
    reading = Reading(
        "lr-range",
        "The best rate is 1e-3.",
        tables=(Table("rates", ("rate", "loss"), ((1e-3, 1.0),)),),
        charts=(chart,),
    )
    trial = Section(
        "Trial of lower-lr",
        ("3 of 3 runs got better.",),
        "cured",
        "cured",
        "--- a/train.py\n+++ b/train.py\n-lr=0.1\n+lr=0.01",
    )
    return Extras(
        (reading,),
        (trial,),
        reliability=Reliability((Bin(0.3, 0.25, 40), Bin(0.8, 0.9, 30)), "70 trainings with a known fault."),
    )


@pytest.fixture(scope="module")
def report() -> str:
    run = recording()
    return page(diagnose(run), run, everything())


def painted(browser: Any, place: int = 0) -> int:
    """How many pixels of a canvas are drawn on."""
    return int(browser.execute_script("""
        const canvas = document.querySelectorAll('canvas')[arguments[0]];
        const pixels = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
        let drawn = 0;
        for (let i = 3; i < pixels.length; i += 4) drawn += pixels[i] > 0;
        return drawn;""", place))  # fmt: skip


def settled(browser: Any) -> None:
    """After the next frames, when everything asked for is drawn."""
    browser.execute_async_script("requestAnimationFrame(() => requestAnimationFrame(() => arguments[0]()))")


def view(browser: Any) -> tuple[float, float]:
    low, high = browser.execute_script("return [views[0].low, views[0].high]")
    return low, high


def test_it_draws_and_answers_first(browser: Any, report: str, as_file: Callable[[str], str]) -> None:
    browser.get(as_file(report))
    settled(browser)
    assert "UNHEALTHY" in browser.find_element("css selector", ".pill").text
    assert painted(browser) > 3000
    headings = [heading.text for heading in browser.find_elements("css selector", "h2") if heading.is_displayed()]
    for heading in (
        "Curves",
        "Inside the model",
        "Evidence",
        "Probes",
        "How sure is this?",
        "Configuration and environment",
        "For an issue",
    ):
        assert heading in headings
    assert any("Trial of lower-lr" in heading for heading in headings)
    assert not browser.find_element("css selector", '[id$="-confidence"] .confidence').is_displayed(), "folded at first"
    assert len(browser.find_elements("css selector", ".map[data-title]")) == 2
    assert sum(one.is_displayed() for one in browser.find_elements("css selector", ".map[data-title]")) == 1


def test_zoom_pan_log_smoothing_and_hover(browser: Any, report: str, as_file: Callable[[str], str]) -> None:
    from selenium.webdriver import ActionChains, Keys

    browser.get(as_file(report))
    settled(browser)
    canvas = browser.find_element("css selector", "canvas")
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", canvas)
    whole = view(browser)
    ActionChains(browser).move_to_element_with_offset(canvas, -100, 0).click_and_hold().move_by_offset(
        200, 0
    ).release().perform()
    zoomed = view(browser)
    assert whole[0] < zoomed[0] < zoomed[1] < whole[1]
    ActionChains(browser).key_down(Keys.SHIFT).move_to_element(canvas).click_and_hold().move_by_offset(
        -60, 0
    ).release().key_up(Keys.SHIFT).perform()
    panned = view(browser)
    assert panned[0] > zoomed[0]
    assert panned[1] - panned[0] == pytest.approx(zoomed[1] - zoomed[0])
    ActionChains(browser).double_click(canvas).perform()
    assert view(browser) == pytest.approx(whole)
    ActionChains(browser).move_to_element(canvas).perform()
    settled(browser)
    told = browser.find_element("css selector", ".tip").text
    assert "train_loss" in told
    assert "step" in told
    before = browser.execute_script("return views[0].panels[0].log")
    browser.find_element("css selector", "[data-log]").click()
    assert browser.execute_script("return views[0].panels[0].log") is not before
    browser.execute_script(
        "const s = document.querySelector('[data-smooth]'); s.value = 0; s.dispatchEvent(new Event('input'))"
    )
    assert browser.execute_script("return views[0].panels[0].lines[0] === views[0].panels[0].panel.series[0].y")
    short = next(
        one
        for one in browser.find_elements("css selector", ".lane button")
        if float(one.get_attribute("data-first")) > 200
    )
    short.click()
    assert view(browser)[0] > whole[0] + 100


def test_the_keyboard_is_enough(browser: Any, report: str, as_file: Callable[[str], str]) -> None:
    from selenium.webdriver import Keys

    browser.get(as_file(report))
    settled(browser)
    canvas = browser.find_element("css selector", "canvas")
    whole = view(browser)
    canvas.send_keys("+")
    assert view(browser)[1] - view(browser)[0] < whole[1] - whole[0]
    canvas.send_keys(Keys.ARROW_RIGHT)
    assert "train_loss" in browser.execute_script("return document.querySelector('[data-speaker]').textContent")
    canvas.send_keys("0")
    assert view(browser) == pytest.approx(whole)
    heat = browser.find_element("css selector", ".map img")
    heat.send_keys(Keys.ARROW_DOWN, Keys.ARROW_RIGHT)
    assert "blocks.1.weight" in browser.find_element("css selector", ".tip").text


def test_no_finding_light_dark_and_on_a_phone(
    browser: Any, report: str, as_file: Callable[[str], str], findings: Callable[[], list[str]]
) -> None:
    browser.get(as_file(report))
    browser.execute_script("document.querySelectorAll('details').forEach(one => { one.open = true; })")
    assert findings() == []
    browser.execute_cdp_cmd(
        "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": "dark"}]}
    )
    assert findings() == []
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride", {"width": 390, "height": 844, "deviceScaleFactor": 2, "mobile": True}
    )
    assert findings() == []
    assert (
        browser.execute_script("return document.documentElement.scrollWidth") <= 390
    )  # nothing to scroll sideways for


def test_it_prints_on_two_or_three_pages(browser: Any, report: str, as_file: Callable[[str], str]) -> None:
    browser.get(as_file(report))
    browser.find_element("css selector", ".panel.main canvas")
    printed = browser.execute_cdp_cmd("Page.printToPDF", {"paperWidth": 8.27, "paperHeight": 11.69})
    pages = len(re.findall(rb"/Type\s*/Page\b", base64.b64decode(printed["data"])))
    assert 2 <= pages <= 3


def test_it_reads_without_script(browser: Any, report: str, as_file: Callable[[str], str]) -> None:
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        browser.get(as_file(report))
        assert browser.find_element("css selector", ".panel svg path").is_displayed()
        assert all(one.is_displayed() for one in browser.find_elements("css selector", ".map img"))
    finally:
        browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})


def test_copying_gives_the_patch_and_the_issue(browser: Any, report: str, as_file: Callable[[str], str]) -> None:
    browser.get(as_file(report))
    browser.execute_script(
        "window.kept = []; navigator.clipboard.writeText = text => { window.kept.push(text); return Promise.resolve(); "
        "}"
    )
    for button in browser.find_elements("css selector", "[data-copy]"):
        browser.execute_script("arguments[0].click()", button)
    kept = browser.execute_script("return window.kept")
    assert "--- a/train.py\n+++ b/train.py\n-lr=0.1\n+lr=0.01" in kept
    assert any(text.startswith("## traindx: UNHEALTHY") and "optimizer = SGD" in text for text in kept)


def test_hostile_names_stay_names(browser: Any, as_file: Callable[[str], str]) -> None:
    place = np.arange(60)
    series: dict[str, Any] = {"train_loss": 1 + place * 0.5}
    for number, name in enumerate(HOSTILE):
        series[f"loss {name}"] = 1.0 + place * number
        series[f"grad_norm/{name}"] = 1.0 + place
    run = run_of(series, {name: name for name in HOSTILE}, [Event("traceback", "\n".join(HOSTILE), 3.0)])
    run.source, run.name = HOSTILE[0], HOSTILE[2]
    run.lost = list(HOSTILE)
    tables = tuple(Table(name, (name, name), ((name, name),)) for name in HOSTILE)
    charts = tuple(
        Chart(name, name, name, (Line(name, (0.0, 1.0), (0.0, 1.0)),), (Mark(0.5, name),), (name, name))
        for name in HOSTILE
    )
    shown = Section(HOSTILE[1], HOSTILE, HOSTILE[2], HOSTILE[3], "\n".join(HOSTILE), tables, charts)
    extras = Extras(
        (Reading(HOSTILE[1], HOSTILE[0], tables=tables, charts=charts, unknown=HOSTILE),),
        (shown,),
        (shown,),
        Reliability((Bin(0.5, 0.5, 3),), HOSTILE[0]),
    )
    browser.get(as_file(page(diagnose(run), run, extras)))
    settled(browser)
    from selenium.webdriver import ActionChains

    browser.execute_script("document.querySelectorAll('details').forEach(one => { one.open = true; })")
    pick = browser.find_element("css selector", "select[data-more]")
    browser.execute_script("arguments[0].value = '1'; arguments[0].dispatchEvent(new Event('change'))", pick)
    for target in ("canvas", ".map img", "figure[data-picked] canvas"):
        ActionChains(browser).scroll_to_element(browser.find_element("css selector", target)).move_to_element(
            browser.find_element("css selector", target)
        ).perform()
    settled(browser)
    assert browser.execute_script("return window.owned") is None
    assert (
        browser.execute_script(
            'return document.querySelectorAll(\'iframe, math, base, img:not([src^="data:image/png"]), '
            "a[href^=javascript]').length"
        )
        == 0
    )
    assert len(browser.find_elements("css selector", "body script:not([type])")) == 1
    assert browser.find_element("css selector", "h1").is_displayed()
