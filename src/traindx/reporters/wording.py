"""How numbers, steps, confidences and names from a log are written, the same in every format."""

from __future__ import annotations

import math
import os
import re
import unicodedata
from collections.abc import Sequence

from traindx.diagnosis import (
    ANSWERS,
    STANDS_OUT,
    WORTH_A_LINE,
    Diagnosis,
    Hypothesis,
    KnownIssueNote,
    Missing,
    Observation,
    Safety,
    Verdict,
)

ENDS = frozenset({"too-short", "truncated"})
DIED = "run-died"
HEALTHY, OTHER = "healthy", "other"  # the two explanations that name no fault
SAFETY: dict[Safety, str] = {"safe": "safe to try", "caution": "changes the training", "disruptive": "a large change"}
VERDICT_WORD: dict[Verdict, str] = {"healthy": "HEALTHY", "unhealthy": "UNHEALTHY", "inconclusive": "INCONCLUSIVE"}
_ANSI = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x9b[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b[@-Z\\-_]?")
SMALL = WORTH_A_LINE  # an explanation less likely than this is not worth a line
COST_FROM = 1000  # steps: in a shorter run the looks at its first steps are most of the cost
_MOST_DIGITS = 7
_LOWER, _UPPER = 1e-3, 1e6  # outside of this range scientific notation is the shorter to read


def clean(text: str) -> str:
    """Text from a log or a path, safe for a terminal: escape sequences are dropped, every other control, bidirectional
    or undecodable character becomes a visible mark, and line breaks become spaces. Logs are not trusted input."""
    text = _ANSI.sub("", text)
    if text.isprintable():
        return text
    return "".join(_visible(character) for character in text)


def _visible(character: str) -> str:
    if character.isprintable():
        return character
    if character in "\n\r\t\v\f":
        return " "
    category = unicodedata.category(character)
    return " " if category == "Zs" else "�"


def clean_lines(text: str) -> list[str]:
    """Code keeps its lines and its indentation; each line is cleaned on its own."""
    return [clean(line.expandtabs(4)).rstrip() for line in text.split("\n")]


def number(value: float, digits: int = 3) -> str:
    """A measured number, at three significant digits unless given: 0.613, 7.9, 12400, 3.1e-5, NaN."""
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else ("Inf" if value > 0 else "-Inf")
    if value == 0:
        return "0"
    if not _LOWER <= abs(value) < _UPPER:
        mantissa, exponent = f"{value:.{digits - 1}e}".split("e")
        return f"{mantissa.rstrip('0').rstrip('.')}e{int(exponent)}"
    text = f"{value:.{max(0, digits - 1 - math.floor(math.log10(abs(value))))}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def apart(one: float, other: float) -> tuple[str, str]:
    """Two numbers with as many digits as it takes to tell them apart."""
    for digits in range(3, _MOST_DIGITS):
        if one == other or number(one, digits) != number(other, digits):
            return number(one, digits), number(other, digits)
    return number(one, _MOST_DIGITS), number(other, _MOST_DIGITS)


def count(value: float) -> str:
    """A step or an amount: whole where it is whole, with commas from ten thousand on."""
    if not math.isfinite(value):
        return number(value)
    if abs(value - round(value)) > 1e-9:
        return f"{value:.4g}" if abs(value) < 1e4 else f"{value:,.0f}"
    return f"{round(value):,}" if abs(value) >= 1e4 else str(round(value))


def amount(value: int, noun: str) -> str:
    """'1 step', '412 steps'."""
    return f"{count(value)} {noun}" if value == 1 else f"{count(value)} {noun}s"


def counted_of(diagnosis: Diagnosis) -> str:
    """'412 steps', '9 epochs', or '' for a run without any. Epochs 0 to 9 are ten, and so are rows."""
    from_zero = diagnosis.run.axis in ("epoch", "row") and any(curve.steps[0] == 0 for curve in diagnosis.curves[:1])
    return amount(diagnosis.run.steps + from_zero, diagnosis.run.axis) if diagnosis.run.steps else ""


def length_of(diagnosis: Diagnosis) -> str:
    """The same with what a recording cost: '4120 steps, recorded at 0.6 % cost'."""
    length = counted_of(diagnosis)
    cost = diagnosis.run.config.get("recording.cost")
    return (
        f"{length}, recorded at {cost * 100:.1f} % cost"
        if isinstance(cost, float) and diagnosis.run.steps >= COST_FROM
        else length
    )


def span(steps: tuple[float, float] | None, unit: str = "step") -> str:
    """Where something happened: 'step 97', 'steps 97–412', or '' when it has no place."""
    if steps is None:
        return ""
    first, last = steps
    return f"{unit} {count(first)}" if first == last else f"{unit}s {count(first)}–{count(last)}"


def placed(symptom: Observation, unit: str) -> str:
    """What was measured, after where: 'steps 97–412, fc2: …'. A place the sentence itself names is not said twice."""
    evidence = clean(symptom.evidence)
    where = clean(symptom.where or "")
    parts = (span(symptom.steps, unit), where)
    place = ", ".join(part for part in parts if part and not re.search(rf"(?<!\w){re.escape(part)}(?!\w)", evidence))
    return f"{place}: {evidence}" if place else evidence


def percent(confidence: float) -> str:
    """A probability, never 0 % or 100 %: a diagnosis from a log is neither impossible nor certain."""
    if confidence < 0.005:
        return "<1 %"
    return ">99 %" if confidence > 0.995 else f"{confidence * 100:.0f} %"


def title_of(hypothesis: Hypothesis) -> str:
    """The explanation in words."""
    if hypothesis.cause == OTHER:
        return "something else"
    return clean(hypothesis.title)


def unmeasured(diagnosis: Diagnosis) -> bool:
    """Nothing was found in the log but how it ended: what it could be is what anything could be, and no page is made
    longer by it. Answers are no log."""
    known = {symptom.id for symptom in diagnosis.symptoms if symptom.state != "unknown"}
    run = diagnosis.run
    return run.objective is None and run.format != ANSWERS and diagnosis.verdict == "inconclusive" and known <= ENDS


def ended(diagnosis: Diagnosis) -> bool:
    """Whether the page's answer is what ended the run: what the few values before its death could mean is no answer."""
    died = next((symptom.evidence for symptom in diagnosis.present() if symptom.id == DIED), None)
    return diagnosis.verdict == "inconclusive" and died is not None and diagnosis.headline.startswith(died)


def leading(diagnosis: Diagnosis) -> Hypothesis | None:
    """The explanation to act on: the likeliest one that names a fault, where it stands out and is likelier than a run
    without one. A healthy run has none."""
    if diagnosis.verdict == "healthy":
        return None
    if ended(diagnosis):
        return None
    first = next((h for h in diagnosis.hypotheses if h.cause not in (HEALTHY, OTHER)), None)
    healthy = next((h.confidence for h in diagnosis.hypotheses if h.cause == HEALTHY), 0.0)
    return first if first is not None and first.confidence >= max(STANDS_OUT, healthy) else None


def others(diagnosis: Diagnosis) -> list[Hypothesis]:
    """All explanations but the leading one, likeliest first; none where nothing was measured."""
    first = leading(diagnosis)
    return [] if unmeasured(diagnosis) else [h for h in diagnosis.hypotheses if h is not first]


def supports(diagnosis: Diagnosis, hypothesis: Hypothesis) -> list[str]:
    """What speaks for it. Evidence that the list of symptoms already spells out is named by the symptom alone."""
    spelled: dict[str, str] = {}
    for symptom in diagnosis.present():
        spelled.setdefault(symptom.evidence, symptom.id)
    named = list(dict.fromkeys(clean(spelled[text]) for text in hypothesis.supports if text in spelled))
    return [", ".join(named)] * bool(named) + [clean(text) for text in hypothesis.supports if text not in spelled]


def objection(diagnosis: Diagnosis, hypothesis: Hypothesis) -> str:
    """The strongest thing that speaks against it, in a few words: a symptom that was seen or looked for by its id
    alone."""
    text = hypothesis.contradicts[0]
    seen = next((symptom.id for symptom in diagnosis.present() if symptom.evidence == text), None)
    name, not_seen, _ = text.partition(" not seen: ")
    return clean(seen if seen is not None else f"{name} not seen" if not_seen else text)


def details(diagnosis: Diagnosis, hypothesis: Hypothesis) -> list[str]:
    """An explanation that is not the first: what speaks for it and against it, and what to try first if it is so."""
    said = supports(diagnosis, hypothesis)
    lines = [f"for: {said[0]}"] if said else []
    if hypothesis.contradicts:
        lines.append(f"against: {objection(diagnosis, hypothesis)}")
    if hypothesis.fix is not None:
        lines.append(f"first fix: {clean(hypothesis.fix.title)} ({hypothesis.fix.id})")
    return lines


def telling(diagnosis: Diagnosis) -> list[Observation]:
    """The symptoms that are present, the weightiest first: what the named causes rest on, in their order, then the
    plainest. What the headline says is not said again."""
    rests = [text for h in (leading(diagnosis), *diagnosis.also) if h is not None for text in h.supports]
    above = headline(diagnosis)
    present = [symptom for symptom in diagnosis.present() if not above.startswith(clean(symptom.evidence))]
    if ended(diagnosis):  # which is why it is short
        present = [symptom for symptom in present if symptom.id not in ENDS]
    rank = {text: place for place, text in reversed(list(enumerate(rests)))}
    return sorted(present, key=lambda symptom: (rank.get(symptom.evidence, len(rests)), -symptom.clarity))


def first_of_each_story(
    diagnosis: Diagnosis, present: Sequence[Observation], above: Sequence[Observation]
) -> list[Observation]:
    """The symptoms that say something new: of a family that tells the same story of the same series (a loss that left
    its best, ends far from it and swings) the first one speaks."""
    from traindx.symptoms import symptoms  # brings numpy, which the help of the command line does without

    known = symptoms()
    headed = [symptom for symptom in diagnosis.present() if headline(diagnosis).startswith(clean(symptom.evidence))]
    heard = {_story(symptom, known[symptom.id].family) for symptom in (*above, *headed) if symptom.id in known}
    new = []
    for symptom in present:
        story = _story(symptom, known[symptom.id].family if symptom.id in known else symptom.id)
        if story not in heard:
            heard.add(story)
            new.append(symptom)
    return new


def _story(symptom: Observation, family: str) -> tuple[str, str]:
    return family, symptom.where or symptom.id


def seen_at(diagnosis: Diagnosis, hypothesis: Hypothesis) -> list[str]:
    """What speaks for it, each with its place."""
    by_text = {symptom.evidence: symptom for symptom in reversed(diagnosis.present())}
    return [
        placed(by_text[text], diagnosis.run.axis) if text in by_text else clean(text) for text in hypothesis.supports
    ]


def main_symptom(diagnosis: Diagnosis) -> str:
    """The symptom the headline speaks of, else the first one present."""
    present = diagnosis.present()
    return next(
        (clean(s.id) for s in present if s.evidence == diagnosis.headline), clean(present[0].id) if present else ""
    )


def headline(diagnosis: Diagnosis) -> str:
    """The headline, unless the cause that stands first says the same sentence; where no cause stands first, what is
    wrong or why the page decides nothing is said first."""
    said = {symptom.evidence for symptom in diagnosis.present()}
    named = diagnosis.verdict != "inconclusive" and leading(diagnosis) is not None
    return "" if diagnosis.headline in said and named else clean(diagnosis.headline)


def wanted(diagnosis: Diagnosis) -> list[Missing]:
    """What was not measured, one entry for each way to get it, with what it would settle of the causes that the page
    names; where nothing was, *Next* says what to do."""
    by_way: dict[str, Missing] = {}
    named = {h.cause for h in diagnosis.hypotheses if h.confidence >= SMALL}
    for item in () if unmeasured(diagnosis) else diagnosis.missing:
        first = by_way.setdefault(item.how, item)
        ids = tuple(one for one in dict.fromkeys([*first.would_decide, *item.would_decide]) if one in named)
        by_way[item.how] = Missing(first.evidence, ids, item.how)
    return list(by_way.values())


def run_name(diagnosis: Diagnosis) -> str:
    """The run in a few words: its source, and which of several runs in it."""
    run = diagnosis.run
    return clean(f"{run.source} ({run.name})" if run.name else run.source)


def folder_of(diagnoses: Sequence[Diagnosis]) -> str:
    """The folder all runs lie in, ending in '/'; '' where there is none to speak of."""
    sources = {diagnosis.run.source for diagnosis in diagnoses}
    try:
        folder = os.path.commonpath([os.path.dirname(source) for source in sources])
    except ValueError:  # absolute and relative paths mixed
        return ""
    return f"{clean(folder)}/" if len(diagnoses) > 1 and len(folder) > 1 else ""


def ids_of(diagnosis: Diagnosis, state: str) -> list[str]:
    return [symptom.id for symptom in diagnosis.symptoms if symptom.state == state]


def notes_of(diagnosis: Diagnosis) -> list[str]:
    """What is out of scope and what was lost, each said once; *Next* says what is to be done."""
    sentence = [note for note in diagnosis.notes if note not in diagnosis.next]
    sentence += [loss for loss in diagnosis.run.lost if not any(loss in note for note in sentence)]
    return [clean(note) for note in dict.fromkeys(sentence)]


def known_issue(note: KnownIssueNote) -> str:
    """A known issue in one line, without its link: for which versions, what it is and what to do."""
    versions = ", ".join(f"{package} {version}" for package, version in note.versions.items())
    return clean(f"{versions or f'If you use {note.affects}'}: {note.title}. {note.do.rstrip('.')}.")


def joined(words: Sequence[str], limit: int) -> str:
    """'a, b, c and 4 more'."""
    if len(words) <= limit:
        return ", ".join(words)
    return f"{', '.join(words[:limit])} and {len(words) - limit} more"
