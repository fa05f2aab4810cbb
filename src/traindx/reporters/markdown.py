"""The same page as Markdown, for an issue, a pull request or a chat."""

from __future__ import annotations

import re
from collections.abc import Sequence

from traindx.diagnosis import UNSURE, Diagnosis, FixProposal, Hypothesis
from traindx.reporters.base import Reporter
from traindx.reporters.patch import whole
from traindx.reporters.sparkline import caption, curves_of, sparkline
from traindx.reporters.unclear import checks, context, heading
from traindx.reporters.wording import (
    OTHER,
    SAFETY,
    VERDICT_WORD,
    amount,
    clean,
    headline,
    ids_of,
    known_issue,
    leading,
    length_of,
    main_symptom,
    notes_of,
    others,
    percent,
    run_name,
    seen_at,
    span,
    supports,
    title_of,
    wanted,
)

_HTML = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
_SPECIAL = re.compile(r"([\\`*_\[\]#~$])")
_CURVE_COLUMNS = 60


def render(diagnoses: Sequence[Diagnosis], *, color: bool, width: int) -> str:
    """Every page in full; several runs start with a summary table (colour and width do not matter)."""
    parts = [] if len(diagnoses) == 1 else [_summary(diagnoses)]
    parts += [_page(diagnosis) for diagnosis in diagnoses]
    return "\n\n".join(parts) + "\n"


def escaped(text: str) -> str:
    """Text from outside, which must not become markup, HTML or a mention."""
    text = "".join(_HTML.get(character, character) for character in clean(text))
    return _SPECIAL.sub(r"\\\1", text).replace("@", "@\u2060")


def code(text: str) -> str:
    """A code span that no backtick inside can end."""
    text = clean(text)
    ticks = "`" * (_longest(text) + 1)
    edge = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{ticks}{edge}{text}{edge}{ticks}" if text else ""


def block(lines: Sequence[str], language: str = "") -> str:
    """A fenced block that no backtick inside can end."""
    fence = "`" * max(3, _longest("\n".join(lines)) + 1)
    return "\n".join([f"{fence}{language}", *lines, fence])


def row(*cells: str) -> str:
    """A table row whose cells no pipe inside can end."""
    return "| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |"


def language_of(source: str) -> str:
    """Fixes are Python unless they are a command to type."""
    first = next((line for line in source.splitlines() if line.strip()), "")
    return "sh" if re.match(r"(\$ |pip |traindx |python3? |export |torchrun |[A-Z_]+=\S+ )", first) else "python"


def _longest(text: str) -> int:
    return max((len(run) for run in re.findall(r"`+", text)), default=0)


def _page(diagnosis: Diagnosis) -> str:
    steps = f" · {length_of(diagnosis)}" if length_of(diagnosis) else ""
    parts = [f"## traindx: {VERDICT_WORD[diagnosis.verdict]} · {code(run_name(diagnosis))}{steps}"]
    if headline(diagnosis):
        parts.append(escaped(headline(diagnosis)))
    sections = (_most_likely, _also, _known, _curves, _figures, _seen, _asked, _alternatives, _checked, _missing)
    parts += [section(diagnosis) for section in sections]
    notes = notes_of(diagnosis)
    if notes:
        parts.append(_bullets("Notes", [escaped(note) for note in notes]))
    if diagnosis.next:
        parts.append(f"**Next:** {escaped(diagnosis.next)}")
    return "\n\n".join(part for part in parts if part)


def _curves(diagnosis: Diagnosis) -> str:
    lines: list[str] = []
    for curve in curves_of(diagnosis):
        lines += [*sparkline(curve.steps, curve.values, columns=_CURVE_COLUMNS), caption(curve, diagnosis.run.axis)]
    lines += [caption(curve, diagnosis.run.axis) for curve in diagnosis.curves if curve not in curves_of(diagnosis)]
    return block(lines, "text") if lines else ""


def _figures(diagnosis: Diagnosis) -> str:
    return "\n".join(f"- {escaped(text)}" for text in diagnosis.figures)


def _asked(diagnosis: Diagnosis) -> str:
    if not diagnosis.asked:
        return ""
    items = [
        f"{place}. {escaped(asked)} → {escaped(answer)}" for place, (asked, answer) in enumerate(diagnosis.asked, 1)
    ]
    return "\n".join(["**Questions asked**", "", *items])


def _seen(diagnosis: Diagnosis) -> str:
    present = diagnosis.present()
    if not present:
        return ""
    rows = [
        row(
            code(symptom.id),
            span(symptom.steps, diagnosis.run.axis) or "–",
            escaped(symptom.where or "–"),
            escaped(symptom.evidence),
        )
        for symptom in present
    ]
    return "\n".join(["| symptom | when | where | measured |", "|---|---|---|---|", *rows])


def _most_likely(diagnosis: Diagnosis) -> str:
    found = checks(diagnosis)
    if found:
        sentence = [
            f"- {escaped(title_of(h))} ({code(h.cause)}, {percent(h.confidence)}): "
            + (f"{escaped(context(diagnosis, h))}; " if context(diagnosis, h) else "")
            + (escaped(check) if check else f"`traindx explain {h.cause}`")
            for h, check in found
        ]
        return "\n".join([f"**{heading(found)}**", "", *sentence])
    first = leading(diagnosis)
    if first is None:
        return ""
    parts = [f"**Most likely {percent(first.confidence)}: {escaped(title_of(first))}** ({code(first.cause)})"]
    parts.append(_fixes(first))
    proof = [f"- line: {code(first.where)}"] if first.where else []
    proof += [f"- for: {escaped(text)}" for text in supports(diagnosis, first)]
    proof += [f"- against: {escaped(text)}" for text in first.contradicts]
    parts.append("\n".join(proof))
    parts.append(_ways(first))
    if first.do_not and first.confidence >= UNSURE:
        parts.append(_bullets("Do not", [escaped(text) for text in first.do_not]))
    return "\n\n".join(part for part in parts if part)


def _also(diagnosis: Diagnosis) -> str:
    parts = []
    for hypothesis in diagnosis.also:
        parts.append(
            f"**Also {percent(hypothesis.confidence)}: {escaped(title_of(hypothesis))}** ({code(hypothesis.cause)})"
        )
        parts.append("\n".join(f"- for: {escaped(text)}" for text in seen_at(diagnosis, hypothesis)))
        if hypothesis.fix is not None:
            parts.append(f"**Fix:** {_named(hypothesis.fix)}; how: `traindx explain {hypothesis.fix.id}`")
    return "\n\n".join(parts)


def _known(diagnosis: Diagnosis) -> str:
    items = [f"{escaped(known_issue(note))} {note.source}" for note in diagnosis.known_issues]
    return _bullets("Known issue", items) if items else ""


def _fixes(hypothesis: Hypothesis) -> str:
    if hypothesis.fix is None:
        return ""
    first = hypothesis.fix
    if hypothesis.confidence < UNSURE:
        return f"**If so:** {_named(first)}; how: `traindx explain {first.id}`"
    return f"**Fix:** {_named(first)}\n\n{block(whole(first), 'diff' if first.diff else language_of(first.code))}"


def _ways(hypothesis: Hypothesis) -> str:
    """Other fixes, by name."""
    if hypothesis.confidence < UNSURE or not hypothesis.alternatives:
        return ""
    return _bullets("Or", [_named(other) for other in hypothesis.alternatives])


def _named(fix: FixProposal) -> str:
    return f"{escaped(fix.title)} ({code(fix.id)}, {SAFETY[fix.safety]})"


def _alternatives(diagnosis: Diagnosis) -> str:
    listed = [h for h in others(diagnosis) if h.confidence >= 0.005]
    if diagnosis.verdict == "healthy" or checks(diagnosis) or not listed:
        return ""
    rows = [
        row(
            percent(h.confidence),
            escaped(title_of(h)),
            "" if h.cause == OTHER else code(h.cause),
            escaped("; ".join(supports(diagnosis, h)[:1])),
            "" if h.fix is None else code(h.fix.id),
        )
        for h in listed
    ]
    return "\n".join(["| else | explanation | id | for | first fix |", "|---:|---|---|---|---|", *rows])


def _checked(diagnosis: Diagnosis) -> str:
    absent, unknown = ids_of(diagnosis, "absent"), ids_of(diagnosis, "unknown")
    lines = []
    if absent:
        lines.append(f"**Checked and not found:** {', '.join(map(code, absent))}")
    if unknown:
        lines.append(f"**Not checked (no evidence):** {', '.join(map(code, unknown))}")
    return "\n\n".join(lines)


def _missing(diagnosis: Diagnosis) -> str:
    items = []
    for item in wanted(diagnosis):
        decides = f" (would decide {', '.join(map(code, item.would_decide))})" if item.would_decide else ""
        items.append(f"{escaped(item.evidence)}{decides}" + (f": {escaped(item.how)}" if item.how else ""))
    return _bullets("Not measured", items) if items else ""


def _bullets(title: str, items: Sequence[str]) -> str:
    return "\n".join([f"**{title}**", "", *(f"- {item}" for item in items)])


def _summary(diagnoses: Sequence[Diagnosis]) -> str:
    rows = []
    for diagnosis in diagnoses:
        first = leading(diagnosis)
        guess = "" if first is None else f"{code(first.cause)} {percent(first.confidence)}"
        symptom = "" if diagnosis.verdict == "healthy" else code(main_symptom(diagnosis))
        rows.append(row(code(run_name(diagnosis)), length_of(diagnosis), diagnosis.verdict, symptom, guess))
    head = [
        f"# traindx: {amount(len(diagnoses), 'run')}",
        "",
        "| run | length | verdict | symptom | most likely |",
        "|---|---:|---|---|---|",
    ]
    return "\n".join([*head, *rows])


REPORTER = Reporter("markdown", "md", "Markdown, for an issue or a chat", (".md", ".markdown"), render)
