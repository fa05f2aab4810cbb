"""The page of a symptom, a cause or a fix, made from its file: for `traindx explain` and, by

    python -m traindx.reporters.pages docs/            writes them
    python -m traindx.reporters.pages --check docs/    exits 1 when they are not up to date

for the docs folder. The same catalogue gives the same pages, byte for byte.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

from traindx.reporters import fresh
from traindx.reporters.markdown import block, language_of, row

if TYPE_CHECKING:
    from traindx.causes.base import Cause
    from traindx.fixes.base import Fix
    from traindx.symptoms.base import Symptom
    from traindx.thresholds import Threshold

Kind = Literal["symptoms", "causes", "fixes"]
Link = Callable[[Kind, str], str]
KINDS: tuple[Kind, ...] = get_args(Kind)
OWNED = (*(f"{kind}/*.md" for kind in KINDS), "images/causes/*.svg")  # what lies there is made here
IMAGES = "../images/causes"  # as a page of a cause sees it
MADE_BY = "<!-- Made from the catalogue by `make docs`; edit the unit's own file instead. -->"
_HOW_OFTEN = ("always", "usually", "often", "sometimes", "rarely", "never")


def named(kind: Kind, identifier: str) -> str:
    """A reference for the terminal: just the id."""
    return f"`{identifier}`"


def linked(kind: Kind, identifier: str) -> str:
    """A reference from one page of docs/ to another; an id without a page stays plain."""
    from traindx.causes import causes
    from traindx.fixes import fixes
    from traindx.symptoms import symptoms

    known = {"symptoms": symptoms().keys(), "causes": causes().keys(), "fixes": fixes().keys()}[kind]
    return f"[`{identifier}`](../{kind}/{identifier}.md)" if identifier in known else f"`{identifier}`"


def with_links(text: str, own: str, link: Link) -> str:
    """The ids in a text turned into references, code blocks left alone; where a name is both, the cause is meant."""
    from traindx.causes import causes
    from traindx.fixes import fixes
    from traindx.symptoms import symptoms

    def reference(found: re.Match[str]) -> str:
        identifier = found.group(1)
        if identifier == own:
            return found.group(0)
        kinds: dict[Kind, bool] = {
            "causes": identifier in causes(), "fixes": identifier in fixes(), "symptoms": identifier in symptoms(),
        }  # fmt: skip
        kind = next((kind for kind, known in kinds.items() if known), None)
        return found.group(0) if kind is None else link(kind, identifier)

    pieces = re.split(r"(^```.*?^```)", text.strip(), flags=re.MULTILINE | re.DOTALL)
    return "".join(p if p.startswith("```") else re.sub(r"`([a-z][a-z0-9-]+)`", reference, p) for p in pieces)


def symptom_page(symptom: Symptom, link: Link) -> str:
    from traindx.causes import causes
    from traindx.symptoms import thresholds

    shown = [(cause.predicts[symptom.id], cause) for cause in causes().values() if symptom.id in cause.predicts]
    shown.sort(key=lambda pair: (_HOW_OFTEN.index(pair[0]), pair[1].id))
    rows = [
        row(link("causes", cause.id), cause.title, often) for often, cause in shown if often not in ("rarely", "never")
    ]
    speaks = [link("causes", cause.id) for often, cause in shown if often == "never"]
    severity = "a problem" if symptom.severity == "problem" else "a note: a healthy run may show it"
    facts = f"Symptom `{symptom.id}` · {severity} · needs {', '.join(symptom.needs)}"
    parts = [f"# {_title(symptom.title)}", facts, with_links(symptom.doc, symptom.id, link)]
    compared = [_threshold_row(one) for one in thresholds(symptom.id).values()]
    if compared:
        parts.append(
            _section("Thresholds", _table(("what", "from", "strong from", "where the number comes from"), compared))
        )
    if rows:
        parts.append(_section("Causes that show it", _table(("cause", "in words", "how often it shows this"), rows)))
    if speaks:
        parts.append(_section("Causes it speaks against", ", ".join(speaks)))
    return _joined(parts)


def _threshold_row(threshold: Threshold) -> str:
    sign = "≥" if threshold.side == "above" else "≤"
    strong = "" if threshold.strong is None else f"{sign} {threshold.strong:g}"
    return row(threshold.unit, f"{sign} {threshold.value:g}", strong, threshold.source)


def cause_page(cause: Cause, link: Link, looks: str = "") -> str:
    """`looks`: a picture, where the page is shown with one."""
    from traindx.fixes import fixes

    seen = "visible in a log" if cause.log_visible else f"needs a look inside: {cause.needs}"
    parts = [
        f"# {_title(cause.title)}",
        f"Cause `{cause.id}` · {cause.group} · {cause.prior} · {seen}",
        *([looks] if looks else []),
        with_links(cause.doc, cause.id, link),
    ]
    shown = [
        f"- {often}: {', '.join(link('symptoms', name) for name in sorted(cause.predicts) if cause.predicts[name] == often)}"  # noqa: E501
        for often in _HOW_OFTEN
        if often in cause.predicts.values()
    ]
    if shown:
        parts.append(_section("How often it shows which symptom", "\n".join(shown)))
    alike = [row(link("causes", name), what) for name, what in cause.look_alikes.items()]
    if alike:
        parts.append(_section("Look-alikes", _table(("cause", "what separates them"), alike)))
    known = fixes()
    listed = [
        f"{place}. {link('fixes', name)}" + (f": {known[name].title} ({known[name].safety})" if name in known else "")
        for place, name in enumerate(cause.fixes, 1)
    ]
    if listed:
        parts.append(_section("Fixes, least disruptive first", "\n".join(listed)))
    return _joined(parts)


def fix_page(fix: Fix, link: Link) -> str:
    from traindx.causes import causes

    parts = [f"# {_title(fix.title)}", f"Fix `{fix.id}` · {fix.safety}: {fix.why_safe}"]
    code = fix.proposal({}).code
    parts += [block(code.split("\n"), language_of(code)), with_links(fix.doc, fix.id, link)]
    if fix.clears:
        cleared = ", ".join(link("symptoms", name) for name in fix.clears)
        parts.append(_section("Symptoms that must be gone afterwards", cleared))
    used = [link("causes", cause.id) for cause in causes().values() if fix.id in cause.fixes]
    if used:
        parts.append(_section("Causes it answers", ", ".join(sorted(used))))
    return _joined(parts)


def first_aid_page() -> str:
    """Short ways from what one sees, or says, to where to look."""
    from traindx import misdiagnoses as sentence

    def link(kind: Kind, *identifiers: str) -> str:
        return ", ".join(linked(kind, identifier).replace("(../", "(") for identifier in identifiers)

    seen = [row(one.title, link("symptoms", *one.symptoms)) for one in sentence.COMPLAINTS]
    looks = [
        row(link("symptoms", one.symptom), link("causes", *one.causes), link("fixes", one.fix))
        for one in sentence.FIRST_LOOKS
    ]
    branches = [
        row(one.tree, one.question, link("causes", *one.causes), link("fixes", one.fix)) for one in sentence.BRANCHES
    ]
    said = [row(one.says, one.thinks, one.usually, one.check) for one in sentence.misdiagnoses()]
    beyond = [row(one.what, one.signs, one.go_to) for one in sentence.HAND_OVERS]
    parts = [
        "# First aid",
        "Short ways from what you see to where to look. `traindx diagnose` weighs all of this on your own log.",
        _section("What you see", _table(("you see", "symptoms"), seen)),
        _section("What to think of first", _table(("symptom", "causes, likeliest first", "first fix to try"), looks)),
        _section("Questions that separate the causes", _table(("of", "question", "if so", "fix"), branches)),
        _section("What people say", _table(("said", "thought", "usually", "how to tell"), said)),
        _section("What is no problem of learning", _table(("what", "how it shows", "where to go"), beyond)),
    ]
    return _joined(parts)


def known_issues_page() -> str:
    """Every known issue of library versions with its source, by kind."""
    from traindx.known import known_issues

    kinds = {
        "fault": ("Faults", "Nothing fails loudly, or it fails whatever the script does."),
        "clash": ("Packages that do not fit together", "Each works, the pair does not."),
        "changed": ("Changed", "What was written for older versions fails or behaves differently."),
    }
    parts = [
        "# Known issues of library versions",
        "`traindx diagnose` names one beside the causes when the versions are known to be affected and the run shows "
        "what it "
        "does; it moves no probability. Where versions are unknown, only an error text that nothing else prints is "
        "enough. "
        "`traindx doctor` lists those of an environment, without the changed ones. Versions are read from the log "
        "(`pip "
        "freeze`, a Trainer's model card, an environment report), from what W&B keeps of a run, and from a recording.",
    ]
    for kind, (title, lead) in kinds.items():
        rows = [
            row(
                f"`{issue.id}`",
                ", ".join(f"`{text}`" for text in issue.affects),
                f"{_title(issue.title)}. {issue.happens} Shows only if {issue.shows_if}.",
                issue.do.rstrip(".") + "." + (f" Fixed in {issue.fixed}." if issue.fixed else ""),
                f"[source]({issue.source})",
            )
            for issue in known_issues().values()
            if issue.kind == kind
        ]
        table = _table(("id", "versions", "what happens", "what to do", ""), rows)
        parts.append(_section(title, f"{lead}\n\n{table}"))
    return _joined(parts)


def all_pages() -> dict[str, str]:
    """Every page of docs/ that comes from the catalogue, by its path in docs/."""
    from traindx.causes import causes
    from traindx.fixes import fixes
    from traindx.reporters import pictures, tokens
    from traindx.symptoms import symptoms

    drawn = pictures.files() | {"assets/tokens.css": tokens.docs_style_sheet()}
    pages: dict[str, str] = {}
    for symptom in symptoms().values():
        pages[f"symptoms/{symptom.id}.md"] = symptom_page(symptom, linked)
    for cause in causes().values():
        looks = (
            f"![What it looks like, in a simulated run]({IMAGES}/{cause.id}.svg)"
            if f"images/causes/{cause.id}.svg" in drawn
            else ""
        )
        pages[f"causes/{cause.id}.md"] = cause_page(cause, linked, looks)
    for fix in fixes().values():
        pages[f"fixes/{fix.id}.md"] = fix_page(fix, linked)
    pages["symptoms/index.md"] = _index(
        "Symptoms", "What can be observed in a run.", ((s.severity, s.id, s.title) for s in symptoms().values())
    )
    pages["causes/index.md"] = _index(
        "Causes", "Why it happens, how to tell the cause from its look-alikes, how to fix it and what not to do.",
        ((c.group, c.id, c.title) for c in causes().values()),
    )  # fmt: skip
    pages["fixes/index.md"] = _index(
        "Fixes", "What to change, from changes that cannot hurt to those that need a new run.",
        ((f.safety, f.id, f.title) for f in fixes().values()),
    )  # fmt: skip
    pages["first-aid.md"] = first_aid_page()
    pages["known-issues.md"] = known_issues_page()
    return {path: made_by_us(text) for path, text in sorted(pages.items())} | drawn


def made_by_us(page: str) -> str:
    """With the mark of a made page below its title: sites take the title of a page from its first line."""
    title, rest = page.split("\n", 1)
    return f"{title}\n\n{MADE_BY}\n{rest}"


def stale(folder: Path) -> list[str]:
    """Pages in the folder that differ from what the catalogue says, are missing, or belong to no unit any more."""
    return fresh.stale(folder, all_pages(), OWNED)


def write(folder: Path) -> int:
    """Bring the folder up to date; gives how many pages there are."""
    return fresh.write(folder, all_pages(), OWNED)


def main(arguments: Sequence[str]) -> int:
    """The pages, and with them the skill that lies beside them: both come from the catalogue."""
    from traindx.reporters import skill

    code = fresh.run(arguments, "traindx.reporters.pages", all_pages, OWNED)
    folder = next((Path(word) for word in arguments if not word.startswith("-")), Path())
    skills = folder.resolve().parent / "skills" / "traindx"
    if code == 2 or not skills.is_dir():
        return code
    return max(code, skill.main([*(word for word in arguments if word == "--check"), str(skills)]))


def _index(title: str, lead: str, units: Iterable[tuple[str, str, str]]) -> str:
    parts = [f"# {title}", lead]
    for group, members in groupby(sorted(units), key=lambda unit: unit[0]):
        rows = [row(f"[`{identifier}`]({identifier}.md)", words) for _, identifier, words in members]
        parts.append(_section(_title(group), _table(("id", "in words"), rows)))
    return _joined(parts)


def _title(text: str) -> str:
    return text[:1].upper() + text[1:]


def _section(title: str, body: str) -> str:
    return f"## {title}\n\n{body}"


def _table(head: Sequence[str], rows: Sequence[str]) -> str:
    return "\n".join([row(*head), row(*("---" for _ in head)), *rows])


def _joined(parts: Sequence[str]) -> str:
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
