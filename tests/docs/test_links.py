"""Every link in every page leads to a file, and to a heading where it names one."""

from __future__ import annotations

import re
import subprocess
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
_LINK = re.compile(r"(?<!!)\[[^\]\n]*\]\(([^)\s]+)\)")  # pictures are checked where the site is built


def pages() -> list[Path]:
    """The Markdown of the repository; links to other places in it count as the page they lead to."""
    listed = subprocess.run(["git", "ls-files", "*.md"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [ROOT / name for name in listed.split() if not name.startswith("tests/") and not (ROOT / name).is_symlink()]


def prose(text: str) -> str:
    """Without code, in which brackets are no links."""
    return re.sub(r"`[^`\n]*`", "code", re.sub(r"^ *(```+).*?^ *\1$", "", text, flags=re.MULTILINE | re.DOTALL))


@cache
def anchors(path: Path) -> frozenset[str]:
    """The headings of a page as GitHub and MkDocs name them."""
    text = re.sub(r"^```.*?^```$", "", path.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    titles = re.findall(r"^#{1,6} +(.+?) *#*$", text, flags=re.MULTILINE)
    return frozenset(re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-") for title in titles)


def test_every_link_leads_somewhere() -> None:
    broken = []
    for page in pages():
        for link in _LINK.findall(prose(page.read_text("utf-8"))):
            target, _, anchor = link.partition("#")
            if re.match(r"[a-z][a-z+.-]*:", target):
                continue
            place = (page.parent / target).resolve() if target else page
            if not place.exists():
                broken.append(f"{page.relative_to(ROOT)}: {target} does not exist")
            elif anchor and place.suffix == ".md" and anchor not in anchors(place):
                broken.append(f"{page.relative_to(ROOT)}: {target} has no heading #{anchor}")
    assert not broken, "\n".join(broken)


def test_a_broken_link_would_be_seen() -> None:
    assert _LINK.findall(prose("see [x](gone.md#y) and `[no](link.md)`")) == ["gone.md#y"]
    assert "by-symptom" in anchors(ROOT / "docs" / "quick-start.md")


def test_every_page_of_the_docs_can_be_reached() -> None:
    seen: set[Path] = set()
    pending = [ROOT / "README.md", ROOT / "docs" / "index.md"]
    while pending:
        page = pending.pop()
        if page in seen or not page.exists():
            continue
        seen.add(page)
        for link in _LINK.findall(prose(page.read_text("utf-8"))):
            target = link.partition("#")[0]
            if target.endswith(".md") and ":" not in target:
                pending.append((page.parent / target).resolve())
    written = {path.resolve() for path in (ROOT / "docs").rglob("*.md")}
    assert not sorted(str(path.relative_to(ROOT)) for path in written - seen)
