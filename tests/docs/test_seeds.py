"""Every item of the documents the project grew from: its command is run and must say what the table claims."""

from __future__ import annotations

import importlib.util
import io
import sys
from pathlib import Path
from types import ModuleType

import pytest

from traindx.cli import main

ROOT = Path(__file__).parents[2]
TRAINS = frozenset({"run", "gradients", "activations", "sanity", "speed", "lr-range", "fix", "trial"})


def loaded(name: str) -> ModuleType:
    """A module of benchmarks/seeds."""
    path = ROOT / "benchmarks" / "seeds" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"seeds_{name}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


table = loaded("items")
ITEMS = table.items()
COMMANDS = list(dict.fromkeys(one.command for one in ITEMS))


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("seeds")
    loaded("scenarios").write(folder)
    return folder


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_says_what_the_table_claims(
    command: str, files: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    mine = [one for one in ITEMS if one.command == command]
    if mine[0].words[0] in TRAINS and "--help" not in mine[0].words:
        pytest.importorskip("torch")
    if mine[0].words[0] == "plot":
        pytest.importorskip("matplotlib")
    monkeypatch.chdir(files)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setattr("sys.stdin", io.StringIO())
    main(mine[0].words)
    shown = " ".join("".join(capfd.readouterr()).split())
    lacking = [
        (one.document, one.lines, said) for one in mine for said in one.says if " ".join(said.split()) not in shown
    ]
    assert not lacking, shown


def test_the_page_is_fresh() -> None:
    assert (ROOT / "docs" / "seeds.md").read_text("utf-8") == table.page()


def test_no_line_of_a_document_is_left_out() -> None:
    for document, (_, length) in table.DOCUMENTS.items():
        spans = [span for one in ITEMS if one.document == document for span in one.spans]
        assert all(1 <= first <= last <= length for first, last in spans)
        covered = {line for first, last in spans for line in range(first, last + 1)}
        besides = {line for first, last in table.spans_of(table.NO_ITEMS[document]) for line in range(first, last + 1)}
        assert covered | besides == set(range(1, length + 1))
        assert not covered & besides


def test_files_that_are_named_exist() -> None:
    for one in ITEMS:
        for word in one.where.replace(":", " ").replace(",", " ").split():
            if word.endswith((".py", ".md")):
                places = [ROOT / word, ROOT / "src" / "traindx" / word]
                deeper = list((ROOT / "src" / "traindx").glob(f"*/{word}"))
                assert any(place.is_file() for place in places) or deeper, (one.lines, word)
