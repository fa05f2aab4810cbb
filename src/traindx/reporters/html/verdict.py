"""The top of the page: the answer, the likeliest cause with its proof and its fix, and what else it could be."""

from __future__ import annotations

from collections.abc import Sequence

from traindx.diagnosis import UNSURE, Diagnosis, FixProposal, Hypothesis
from traindx.reporters.html.markup import Child, Html, block, inner, tag
from traindx.reporters.html.plots import Plots, still
from traindx.reporters.html.svg import chart_svg
from traindx.reporters.patch import whole
from traindx.reporters.sparkline import result
from traindx.reporters.unclear import checks, context, heading
from traindx.reporters.wording import (
    HEALTHY,
    SAFETY,
    VERDICT_WORD,
    amount,
    clean,
    ended,
    headline,
    ids_of,
    known_issue,
    leading,
    length_of,
    percent,
    run_name,
    seen_at,
    title_of,
    unmeasured,
)

SMALL_CURVE = (380, 150)  # width and height
MAX_RESULTS = 3  # curves whose best and last values stand at the top of a healthy page
MOST_PROOF, MOST_AGAINST = 4, 2  # sentences; the section with the evidence has all


def hero(diagnosis: Diagnosis, heading: str, plots: Plots) -> Html:
    """The answer in one card, with the curve it rests on. `heading` is h1 where the page has one run, else h2."""
    verdict = diagnosis.verdict
    meta = " · ".join(part for part in (length_of(diagnosis), diagnosis.run.format) if part)
    said = _answer(diagnosis)
    sentence = "" if diagnosis.headline == said else diagnosis.headline
    if verdict == "healthy":  # the answer is said above: here is what the run reached
        sentence = "; ".join(result(curve, diagnosis.run.axis) for curve in diagnosis.curves[:MAX_RESULTS])
    words = tag(
        "div",
        tag(
            "div",
            tag("span", VERDICT_WORD[verdict], class_=f"pill {verdict}"),
            tag("span", run_name(diagnosis), class_="mono"),
            tag("span", meta, class_="soft small"),
            class_="name",
        ),
        tag(heading, said, class_="answer"),
        tag("p", in_code(sentence), class_="said") if sentence else None,
    )
    next_step = (
        tag("div", tag("b", "Next"), tag("span", in_code(diagnosis.next)), class_="next") if diagnosis.next else None
    )
    return tag(
        "header", tag("div", words, _small_curve(plots), class_="top-row"), next_step, class_=f"card hero {verdict}"
    )


def _small_curve(plots: Plots) -> Html | None:
    """The objective, small; the section with the curves says it in words."""
    if not plots.panels:
        return None
    chart = still(plots.panels[0], plots.clock)
    return tag(
        "div", chart_svg(chart, width=SMALL_CURVE[0], height=SMALL_CURVE[1]), class_="small-curve", aria_hidden="true"
    )


def _answer(diagnosis: Diagnosis) -> str:
    first = leading(diagnosis)
    if diagnosis.verdict == "healthy":
        return "No problem found"
    if first is None or checks(diagnosis):
        return headline(diagnosis) or "The evidence does not settle it"
    lead = "Most likely" if first.confidence >= UNSURE else "Perhaps"
    return f"{lead}: {title_of(first)}"


def causes(diagnosis: Diagnosis, run_id: str) -> Html:
    """The likeliest explanation in full beside all of them as bars; nothing where nothing was measured, or where the
    answer is what ended the run."""
    if unmeasured(diagnosis) or ended(diagnosis):
        return inner()
    first = leading(diagnosis)
    aside = tag(
        "section", tag("h2", "All explanations"), _bars(diagnosis, first), class_="card", aria_label="All explanations"
    )
    found = checks(diagnosis)
    if found:
        return tag("div", _unclear(diagnosis, found), aside, class_="two")
    if first is None:
        return (
            inner(tag("section", tag("h2", "What was looked at"), _calm(diagnosis), class_="card"), aside)
            if diagnosis.verdict == "healthy"
            else aside
        )
    return tag("div", _likeliest(diagnosis, first, run_id), aside, class_="two")


def _begun(text: str) -> str:
    """As a sentence of its own."""
    return text[:1].upper() + text[1:]


def _how(hypothesis: Hypothesis, check: str) -> str:
    return check or f"See `traindx explain {hypothesis.cause}`"


def _unclear(diagnosis: Diagnosis, found: list[tuple[Hypothesis, str]]) -> Html:
    """The candidates where no cause may be called the likeliest, each with what tells it from the others."""
    listed = [
        _row(
            "for",
            ". ".join(_begun(text) for text in (title_of(h), context(diagnosis, h), _how(h, check)) if text),
            percent(h.confidence),
        )
        for h, check in found
    ]
    return tag(
        "section", tag("h2", heading(found)), tag("ul", listed, class_="proof"), class_="card", aria_label="Candidates"
    )


def known(diagnosis: Diagnosis) -> Html | None:
    """Known issues of the library versions, each with its source: as text, since the page links to nothing outside."""
    if not diagnosis.known_issues:
        return None
    listed = [
        tag(
            "li",
            tag("b", "issue"),
            tag("span", in_code(known_issue(note)), " ", tag("span", note.source, class_="mono")),
            class_="for",
        )
        for note in diagnosis.known_issues
    ]
    return tag(
        "section", tag("h2", "Known issue"), tag("ul", listed, class_="proof"), class_="card", aria_label="Known issue"
    )


def _likeliest(diagnosis: Diagnosis, first: Hypothesis, run_id: str) -> Html:
    said = diagnosis.headline  # the card above says it
    patched = first.fix is not None and first.fix.diff  # which says the line
    proof = [_row("for", f"`{clean(first.where)}`", "line")] if first.where and not patched else []
    proof += [_row("for", text) for text in seen_at(diagnosis, first) if not said or said not in text][:MOST_PROOF]
    proof += [_row("against", text) for text in first.contradicts[:MOST_AGAINST]]
    never = [_row("never", text, "do not") for text in first.do_not if first.confidence >= UNSURE]
    return tag(
        "section",
        tag(
            "div",
            tag("span", percent(first.confidence), class_="percent"),
            tag("h2", title_of(first)),
            tag("span", first.cause, class_="id soft"),
            class_="likely",
        ),
        _fix(first, run_id),
        tag("ul", proof, class_="proof") if proof else None,
        tag("ul", never, class_="proof") if never else None,
        [_second(diagnosis, hypothesis) for hypothesis in diagnosis.also],
        class_="card",
        aria_label="Most likely cause",
    )


def _second(diagnosis: Diagnosis, hypothesis: Hypothesis) -> Html:
    """What is at work beside the first cause."""
    proof = [_row("for", text) for text in seen_at(diagnosis, hypothesis)]
    fix = hypothesis.fix
    patch = code(whole(fix)) if fix is not None and fix.diff else None
    how = "" if fix is None else fix.title if patch else f"{fix.title}; how: `traindx explain {fix.id}`"
    return tag(
        "div",
        tag("h3", f"Also: {title_of(hypothesis)}, {percent(hypothesis.confidence)}"),
        tag("ul", proof, [_row("for", how, "fix")] if how else None, class_="proof"),
        patch,
        class_="also",
    )


def _row(kind: str, text: str, label: str | None = None) -> Html:
    return tag("li", tag("b", label or kind), tag("span", in_code(text)), class_=kind)


def _fix(first: Hypothesis, run_id: str) -> Html | None:
    if first.fix is None:
        return None
    if first.confidence < UNSURE:
        how = f"`traindx explain {first.fix.id}`"
        return tag(
            "div",
            tag("h3", "If so: ", first.fix.title),
            tag("p", "Below 40 % no code is shown, because it would probably change the wrong thing. How it is done: ",
                in_code(how), class_="soft"),
            class_="fix proof",
        )  # fmt: skip
    return tag(
        "div",
        tag("h3", "Fix: ", first.fix.title),
        tag("p", f"{first.fix.id} · {SAFETY[first.fix.safety]}", class_="soft"),
        code(whole(first.fix), f"{run_id}-fix"),
        _alternatives(first.alternatives),
        class_="fix proof",
    )


def _alternatives(others: Sequence[FixProposal]) -> Html | None:
    if not others:
        return None
    return tag(
        "details",
        tag("summary", f"Or {len(others)} other way{'s' if len(others) > 1 else ''}"),
        [tag("div", tag("h3", other.title), tag("p", f"{other.id} · {SAFETY[other.safety]}", class_="soft"),
             code(whole(other))) for other in others],
    )  # fmt: skip


def code(lines: list[str], identifier: str | None = None) -> Html:
    """Code or a patch, with a button that copies it."""
    marked = [tag("span", line, class_=_side(line)) if _side(line) else inner(line) for line in lines]
    shown = (
        tag("pre", Html("\n".join(marked)), id=identifier, tabindex=0)
        if any(map(_side, lines))
        else block(lines, id=identifier, tabindex="0")
    )
    button = (
        tag("button", "copy", type="button", class_="button", data_copy=identifier, hidden=True) if identifier else None
    )
    return tag("div", shown, button, class_="code")


def _side(line: str) -> str | None:
    """Which side of a patch a line is on."""
    if line.startswith("+") and not line.startswith("+++"):
        return "added"
    return "removed" if line.startswith("-") and not line.startswith("---") else None


def _bars(diagnosis: Diagnosis, first: Hypothesis | None) -> Html:
    """Every explanation with its probability. An SVG is what can be drawn to measure without a style attribute."""
    rows = []
    for hypothesis in diagnosis.hypotheses:
        share = f"{max(hypothesis.confidence, 0.004) * 100:.1f}"
        bar = tag(
            "svg",
            tag("rect", width="100", height="6", class_="track"),
            tag("rect", width=share, height="6", class_="fill"),
            viewBox="0 0 100 6", preserveAspectRatio="none", aria_hidden="true",
        )  # fmt: skip
        rows.append(
            tag(
                "li",
                tag("span", "healthy" if hypothesis.cause == HEALTHY else title_of(hypothesis)),
                tag("span", percent(hypothesis.confidence), class_="value"),
                bar,
                class_="first" if hypothesis is first else None,
                title=hypothesis.cause,
            )
        )
    return tag("ol", rows, class_="bars")


def _calm(diagnosis: Diagnosis) -> Html:
    ruled, unknown = len(ids_of(diagnosis, "absent")), len(ids_of(diagnosis, "unknown"))
    sure = f"Confidence {percent(diagnosis.hypotheses[0].confidence)}. " if diagnosis.hypotheses else ""
    return tag("p", f"{sure}{amount(ruled, 'check')} passed, {unknown} could not run.")


def in_code(text: str) -> Child:
    """Text in which what stands between backticks is shown as code."""
    parts: list[Child] = []
    for place, piece in enumerate(text.split("`")):
        if piece:
            parts.append(tag("code", piece) if place % 2 else piece)
    return parts
