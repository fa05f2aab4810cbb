"""The catalogue as it is looked up: its entries, and the pages behind an id or behind words people say."""

from __future__ import annotations

import difflib
import re
from typing import Any, Literal

Part = Literal["symptoms", "causes", "fixes"]
PARTS: tuple[Part, ...] = ("symptoms", "causes", "fixes")
_OF_THE_FIELD = frozenset({"lora", "gan", "vae", "lm"})  # words that say enough by themselves
_FILLERS = frozenset("a an and do i in is it just m my of on so the to too very you".split())
_SIMILAR = 0.5  # how alike two ids must be to be worth suggesting


def entries(part: Part) -> list[dict[str, Any]]:
    """Every unit of this part of the catalogue: id, title, group and what it hangs together with."""
    if part == "symptoms":
        from traindx.symptoms import symptoms

        return [{"id": s.id, "title": s.title, "group": s.severity} for s in symptoms().values()]
    if part == "causes":
        from traindx.causes import causes

        return [
            {"id": c.id, "title": c.title, "group": c.group, "prior": c.prior, "log_visible": c.log_visible,
             "symptoms": list(c.predicts), "fixes": list(c.fixes)}
            for c in causes().values()
        ]  # fmt: skip
    from traindx.fixes import fixes

    return [{"id": f.id, "title": f.title, "group": f.safety, "clears": list(f.clears)} for f in fixes().values()]


def pages_about(text: str) -> list[str]:
    """The pages of an id, else what is known of a sentence people say; empty where there is nothing."""
    return pages_of(re.sub(r"[\s_]+", "-", text.strip().lower())) or said(text)


def pages_of(identifier: str) -> list[str]:
    """All pages of this id: some stand in two lists, and both are worth reading."""
    from traindx.causes import causes
    from traindx.fixes import fixes
    from traindx.reporters.pages import cause_page, fix_page, named, symptom_page
    from traindx.symptoms import symptoms

    pages = []
    if identifier in symptoms():
        pages.append(symptom_page(symptoms()[identifier], named))
    if identifier in causes():
        pages.append(cause_page(causes()[identifier], named))
    if identifier in fixes():
        pages.append(fix_page(fixes()[identifier], named))
    return pages


def said(text: str) -> list[str]:
    """For a sentence people say about a training: what they think it is, what it usually is, and the check that
    tells."""
    from traindx.misdiagnoses import misdiagnoses

    wanted = _words(text)
    enough = len(wanted) > 1 or wanted & _OF_THE_FIELD
    rows = [row for row in misdiagnoses() if enough and wanted <= _words(f"{row.says} {row.thinks}")]
    return [
        f"# “{row.says}”\n\n- thought: {row.thinks}\n- usually: {row.usually}\n- how to tell: {row.check}\n"
        for row in rows
    ]


def _words(text: str) -> set[str]:
    """The words that carry meaning, without their plural."""
    return {word.removesuffix("s") for word in re.findall(r"[a-z0-9]+", text.lower()) if word not in _FILLERS}


def titles() -> dict[str, str]:
    """The title of every id."""
    return {entry["id"]: entry["title"] for part in PARTS for entry in entries(part)}


def suggestion(text: str, titles: dict[str, str]) -> str:
    """The nearest ids, by spelling and by words shared with the title."""
    wanted = _words(text)
    shared = {name: len(wanted & _words(f"{name} {title}")) for name, title in titles.items()}
    by_words = sorted((name for name in titles if shared[name]), key=lambda name: (-shared[name], name))
    close = difflib.get_close_matches(text.lower(), titles, n=3, cutoff=_SIMILAR)
    near = list(dict.fromkeys([*close, *by_words]))[:4]
    if near:
        return f"Did you mean {', '.join(near)}? `traindx list` shows all."
    return "`traindx list` shows all."
