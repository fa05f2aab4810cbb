"""The catalogue's pages: complete, linked, and fresh in docs/."""

from __future__ import annotations

import re
from os.path import normpath
from pathlib import Path

from traindx.causes import causes
from traindx.fixes import fixes
from traindx.reporters.pages import all_pages, main, stale, write
from traindx.symptoms import symptoms

DOCS = Path(__file__).parents[2] / "docs"


def test_docs_are_fresh() -> None:
    assert stale(DOCS) == [], "run `make docs`"


def test_every_unit_has_a_page_and_every_link_leads_somewhere() -> None:
    pages = all_pages()
    expected = {f"symptoms/{i}.md" for i in symptoms()} | {f"causes/{i}.md" for i in causes()}
    expected |= {f"fixes/{i}.md" for i in fixes()}
    assert expected <= set(pages)
    for path, text in pages.items():
        for target in re.findall(r"\]\(([^)#:]+\.md)\)", text):
            assert normpath(Path(path).parent / target) in pages, f"{path} links to {target}"


def test_pages_are_deterministic_and_orphans_removed(tmp_path: Path) -> None:
    count = write(tmp_path)
    first = {path: path.read_bytes() for path in tmp_path.rglob("*.md")}
    orphan = tmp_path / "causes" / "gone.md"
    orphan.write_text("old")
    assert stale(tmp_path) == ["causes/gone.md"]
    assert main(["--check", str(tmp_path)]) == 1
    assert main([str(tmp_path)]) == 0
    assert {path: path.read_bytes() for path in tmp_path.rglob("*.md")} == first
    assert sum(path.is_file() for path in tmp_path.rglob("*")) == count
    assert main(["--check", str(tmp_path)]) == 0
    assert main([]) == 2
