"""Notebooks: what objects show of themselves, and the example notebook, executed by a real kernel."""

from __future__ import annotations

import re
import shutil
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from hostile import HOSTILE
from runs import run_of
from traindx.engine import diagnose
from traindx.live.outside.notebook import NotebookView, display_handle
from traindx.readers.find import find_runs
from traindx.reading import Table
from traindx.reporters.html.fragment import fragment, table

EXAMPLES = Path(__file__).parents[2] / "examples"
ALLOWED = {
    "div", "span", "b", "ul", "li", "pre", "code", "table", "tr", "td", "th", "details", "summary", "svg", "path",
    "line", "text", "circle",
}  # fmt: skip


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}


def parsed(html: str) -> _Tags:
    tags = _Tags()
    tags.feed(html)
    return tags


def test_runs_and_diagnoses_show_themselves_without_script() -> None:
    place = np.arange(300)
    loss = 2 * np.exp(-place / 60) + 0.1
    loss[200:] += np.linspace(0, 30, 100)
    run = run_of({"train_loss": loss, "lr": np.full(300, 0.1)}, {"optimizer": "SGD"})
    shown, told = run._repr_html_(), diagnose(run)._repr_html_()
    assert "train_loss" in shown
    assert "optimizer = SGD" in shown
    assert "UNHEALTHY" in told
    assert "divergence" in told
    for html in (shown, told):
        assert "<svg" in html
        assert parsed(html).tags <= ALLOWED


def test_hostile_names_stay_text() -> None:
    run = run_of({f"loss {name}": np.arange(30.0) for name in HOSTILE}, {name: name for name in HOSTILE})
    run.source = HOSTILE[0]
    parts = [table(Table("", HOSTILE, (HOSTILE,)))]
    for html in (
        run._repr_html_(),
        diagnose(run)._repr_html_(),
        fragment(HOSTILE[1], parts, verdict=HOSTILE[2], aside=HOSTILE[3]),
    ):
        found = parsed(html)
        assert found.tags <= ALLOWED
        assert not any(name.startswith("on") for name in found.attributes)


def test_outside_of_notebooks_nothing_is_shown() -> None:
    assert display_handle() is None


def test_a_view_that_fails_disturbs_nobody(tmp_path: Path) -> None:
    class Broken:
        def update(self, shown: object) -> None:
            raise RuntimeError("no front end")

    NotebookView(tmp_path / "nothing.traindx", Broken()).close()


def test_the_example_notebook_runs(tmp_path: Path) -> None:
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    shutil.copytree(EXAMPLES / "sick", tmp_path / "sick")
    notebook = nbformat.read(EXAMPLES / "notebook.ipynb", as_version=4)
    nbclient.NotebookClient(
        notebook, timeout=240, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}
    ).execute()
    shown = [
        output["data"]["text/html"]
        for cell in notebook.cells
        for output in cell.get("outputs", [])
        if "text/html" in output.get("data", {})
    ]
    assert len(shown) == 4  # run, diagnosis, the live view, its diagnosis
    assert "UNHEALTHY" in shown[1]
    assert "softmax" in shown[2].lower()  # the live view ended with the diagnosis of the whole recording
    assert re.search("160 steps", shown[3])
    assert (tmp_path / "report.html").read_text(encoding="utf-8").startswith("<!doctype html>")


@pytest.mark.parametrize("example", ["mistake/train.traindx", "sick/metrics.csv", "healthy/metrics.csv"])
def test_what_a_cell_shows_is_short(example: str) -> None:
    (run,) = find_runs([Path(__file__).resolve().parents[2] / "examples" / example])
    page = diagnose(run)
    for one in (run, page):
        assert len(one._repr_html_()) < 4096
        assert len(repr(one)) < 300
    assert page.verdict in repr(page)
    assert repr(page).count("%") <= 1
    assert all(len(repr(one)) < 300 for one in page.hypotheses)


def test_epochs_from_zero_are_counted_and_named_the_same_everywhere() -> None:
    run = run_of({"loss": 0.1 + 2 * np.exp(-np.arange(50) / 9)})
    run.series["loss"] = replace(run.series["loss"], axis="epoch")
    page = diagnose(run)
    for shown in (repr(run), repr(page), run._repr_html_(), page._repr_html_()):
        assert "50 epochs" in shown
    assert ">epoch</text>" in page._repr_html_()
