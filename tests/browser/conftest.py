"""One Chromium for all browser tests. Without it they are skipped, but where TRAINDX_BROWSER=required (as in .ci/run)
they fail."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

REQUIRED = os.environ.get("TRAINDX_BROWSER") == "required"


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    found, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if not (found and driver):
        (pytest.fail if REQUIRED else pytest.skip)("needs Debian's packages chromium and chromium-driver")
    if not REQUIRED:
        pytest.importorskip("selenium")
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = found
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    browser = webdriver.Chrome(options=options, service=Service(driver))
    yield browser
    browser.quit()


@pytest.fixture
def browser(chromium: Any) -> Iterator[Any]:
    """The browser on a desktop, with nothing said so far; whatever it complains of by the end of a test is a
    failure."""
    chromium.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride", {"width": 1280, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    )
    chromium.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    chromium.get("about:blank")
    chromium.get_log("browser")
    yield chromium
    assert complaints(chromium) == []


def complaints(browser: Any) -> list[str]:
    """Errors of scripts and violations of the content-security policy."""
    return [entry["message"] for entry in browser.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")]


@pytest.fixture
def findings(browser: Any) -> Callable[[], list[str]]:
    """What axe-core finds wrong with the page that is shown, however little."""
    from axe_core_python.selenium import Axe

    def check() -> list[str]:
        found = Axe().run(browser)["violations"]
        return [f"{rule['id']}: {rule['nodes'][0]['html'][:200]}" for rule in found]

    return check


@pytest.fixture
def as_file(tmp_path: Path) -> Callable[[str], str]:
    """A page as a file that the browser can open."""

    def write(text: str) -> str:
        path = tmp_path / "report.html"
        path.write_text(text, encoding="utf-8")
        return path.as_uri()

    return write
