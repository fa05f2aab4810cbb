"""The dashboard in a real browser: the table, a run that grows while it is watched, the comparison, and hostile
names."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hostile import HOSTILE
from traindx.executors import executor_for
from traindx.server.shelf import Shelf
from traindx.server.web import Server, address_of, open_server

PATIENCE = 30.0


def write(path: Path, values: Any, start: int = 0, metric: str = "train_loss") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        file.writelines(json.dumps({"step": start + i, metric: value}) + "\n" for i, value in enumerate(values))


def falling(steps: int) -> list[float]:
    return [2 * float(np.exp(-i / 40)) + 0.3 + 0.01 * float(np.sin(i * 1.7)) for i in range(steps)]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    write(folder / "healthy" / "metrics.jsonl", falling(200))
    write(folder / "sick" / "metrics.jsonl", falling(120) + [0.5 * i for i in range(60)])
    for number, name in enumerate(HOSTILE):
        write(folder / f"x{number}{name.replace('/', '∕')[:60]}" / "log.jsonl", falling(30), metric=f"loss {name}")
    for path in folder.glob("*/*.jsonl"):
        os.utime(path, (1_700_000_000, 1_700_000_000))
    return folder


@pytest.fixture(scope="module")
def server(runs: Path) -> Iterator[Server]:
    shelf = Shelf(runs, executor_for("local", workers=1))
    shelf.look_again()
    serving = open_server(runs, "127.0.0.1", 0, shelf=shelf, open_here=True)
    shelf.start()
    threading.Thread(target=serving.serve_forever, daemon=True).start()
    yield serving
    shelf.stop()
    serving.shutdown()
    serving.server_close()


def until(check: Callable[[], Any]) -> Any:
    """What `check` gives once it gives something; a failure where it never does."""
    from selenium.common.exceptions import StaleElementReferenceException

    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        with suppress(StaleElementReferenceException):  # the page was drawn anew between finding and reading
            found = check()
            if found:
                return found
        time.sleep(0.2)
    raise AssertionError("it never came")


def rows(browser: Any) -> list[str]:
    found: list[str] = browser.execute_script(
        "return [...document.querySelectorAll('[data-rows] tr')].map(row => row.innerText)"
    )
    return found


def search(browser: Any, words: str) -> None:
    browser.execute_script(
        "const box = document.querySelector('[data-filter]'); box.value = arguments[0]; box.dispatchEvent(new "
        "Event('input'))",
        words,
    )


def press(browser: Any, selector: str) -> None:
    """A click that no refresh of the table can come between."""
    browser.execute_script("document.querySelector(arguments[0]).click()", selector)


def test_the_table_sorts_filters_and_passes_axe(
    browser: Any, server: Server, findings: Callable[[], list[str]]
) -> None:
    browser.get(address_of(server))
    assert "sick" in rows(browser)[0]
    assert "unhealthy" in rows(browser)[0]
    assert len(rows(browser)) == 2 + len(HOSTILE)
    assert findings() == []
    browser.execute_cdp_cmd(
        "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": "dark"}]}
    )
    assert findings() == []
    search(browser, "healthy/")
    assert len(rows(browser)) == 1
    search(browser, "")
    press(browser, "[data-verdict=unhealthy]")
    assert len(rows(browser)) == 1
    press(browser, "[data-verdict=unhealthy]")
    press(browser, "[data-sort=name]")
    assert "healthy/" in rows(browser)[0]
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride", {"width": 390, "height": 844, "deviceScaleFactor": 2, "mobile": True}
    )
    assert browser.execute_script("return document.documentElement.scrollWidth") <= 390


def test_what_is_chosen_survives_a_reload_and_the_way_back(browser: Any, server: Server) -> None:
    browser.get(address_of(server))
    press(browser, "[data-sort=loss]")
    press(browser, "[data-sort=loss]")
    press(browser, "[data-verdict=unhealthy]")
    search(browser, "sick")
    assert "filter=sick&only=unhealthy&sort=-loss" in browser.current_url
    browser.refresh()
    assert len(rows(browser)) == 1
    assert browser.find_element("css selector", "[data-filter]").get_attribute("value") == "sick"
    assert browser.find_element("css selector", "[data-verdict=unhealthy]").get_attribute("aria-pressed") == "true"
    browser.find_element("css selector", ".runs a").click()
    until(lambda: "/run/" in browser.current_url)
    opened = browser.current_url
    browser.refresh()
    assert browser.current_url == opened
    browser.back()
    until(lambda: "sort=-loss" in browser.current_url)
    until(lambda: len(rows(browser)) == 1)


def test_hostile_names_are_inert_everywhere(browser: Any, server: Server) -> None:
    browser.get(address_of(server))
    links = [row["id"] for row in server.dashboard.shelf.rows()]
    assert browser.execute_script("return window.owned") is None
    for run in links[2:5]:
        browser.get(f"{address_of(server)}run/{run}")
        assert browser.execute_script("return window.owned") is None
        assert (
            browser.execute_script("return document.querySelectorAll('iframe, math, base, a[href^=javascript]').length")
            == 0
        )
    browser.get(f"{address_of(server)}compare?" + "&".join(f"run={run}" for run in links))
    assert browser.execute_script("return window.owned") is None
    assert browser.find_element("css selector", "canvas").is_displayed()


def test_comparing_from_the_table(browser: Any, server: Server, findings: Callable[[], list[str]]) -> None:
    browser.get(address_of(server))
    for name in ("sick/metrics.jsonl", "healthy/metrics.jsonl"):
        press(browser, f"[aria-label='compare {name}']")
    press(browser, "[data-compare]")
    until(lambda: "compare?" in browser.current_url)
    assert browser.find_element("css selector", "main h1").text == "Yes, it helped"
    assert findings() == []


def test_a_training_in_progress_keeps_the_page_up_to_date(browser: Any, server: Server, runs: Path) -> None:
    path = runs / "growing" / "metrics.jsonl"
    write(path, falling(100))
    browser.get(address_of(server))
    until(lambda: any("growing" in row and "in progress" in row for row in rows(browser)))
    browser.execute_script(
        "[...document.querySelectorAll('a')].find(link => link.textContent.startsWith('growing')).click()"
    )
    until(lambda: browser.find_elements("css selector", "canvas"))
    assert browser.execute_script("return views[0].data.last") == 99
    browser.execute_script("document.querySelector('canvas').dispatchEvent(new KeyboardEvent('keydown', {key: '+'}))")
    zoomed = browser.execute_script("return [views[0].low, views[0].high]")
    write(path, falling(160)[100:], start=100)
    until(lambda: browser.execute_script("return views.length && views[0].data.last") == 159)
    assert browser.execute_script("return [views[0].low, views[0].high]") == pytest.approx(
        zoomed
    )  # where the reader looks
    write(path, [0.4 * i for i in range(80)], start=160)
    until(lambda: "UNHEALTHY" in browser.find_element("css selector", ".hero").text)


def test_zooming_fetches_the_finer_curve(browser: Any, server: Server, runs: Path) -> None:
    path = runs / "long" / "metrics.jsonl"
    write(path, falling(9000))
    shelf = server.dashboard.shelf
    run = until(
        lambda: next((row["id"] for row in shelf.rows() if row["name"].startswith("long/") and row["id"]), None)
    )
    browser.get(f"{address_of(server)}run/{run}")
    assert browser.execute_script("return 'lo' in views[0].panels[0].panel.series[0]")
    browser.execute_script("views[0].show(4000, 4200)")
    until(lambda: browser.execute_script("return !('lo' in views[0].panels[0].panel.series[0])"))
    browser.execute_script("views[0].reset()")
    until(lambda: browser.execute_script("return 'lo' in views[0].panels[0].panel.series[0]"))
