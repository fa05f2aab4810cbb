"""The page in a terminal: the first line answers, the rest proves it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import zip_longest

from rich.cells import cell_len

from traindx.diagnosis import UNSURE, Diagnosis, Hypothesis, Observation, Verdict
from traindx.reporters.base import Reporter
from traindx.reporters.layout import Ink, Style, ends, fitting, hanging, narrowed, pad, shorten, table, wrap
from traindx.reporters.sparkline import caption, curves_of, label_width, results_of, sparkline
from traindx.reporters.wording import (
    HEALTHY,
    OTHER,
    VERDICT_WORD,
    amount,
    clean,
    clean_lines,
    folder_of,
    headline,
    ids_of,
    joined,
    known_issue,
    leading,
    length_of,
    main_symptom,
    notes_of,
    objection,
    others,
    percent,
    placed,
    run_name,
    seen_at,
    supports,
    telling,
    title_of,
    wanted,
)

MAX_WIDTH = 100
ALL_PAGES = 3  # up to this many runs every page is shown in full; beyond, the table and the worst pages
_STYLES: dict[Verdict, Style] = {"healthy": "green", "unhealthy": "red", "inconclusive": "yellow"}
_CURVE_COLUMNS = 44
_CAPTION_ROOM = 24  # narrower than this a caption is a ladder of single words
_WHERE_THE_REST_IS = "`traindx diagnose` with one run's path shows that run; `-o report.md` writes every page."
_RIVAL = 0.1  # an explanation this likely beside the first gets a line on what speaks against it
_LABEL = 13  # where the text beside 'for', 'against', 'fix' begins
_RUN_ROOM = 16  # the least a run's name is given in the summary
_TITLE = 22  # where the name of an explanation begins
_RAGGED = 16  # what wrapping leaves empty at the end of a line of ids
_SECTION = 17  # where the text beside 'Not measured', 'Next' begins
_MOST = {"seen": 6, "for": 4, "against": 3, "do not": 2, "code": 8, "else": 4, "missing": 4, "notes": 4}


def render(diagnoses: Sequence[Diagnosis], *, color: bool, width: int) -> str:
    """One page for one run; a summary table first for several, and full pages only for the worst of many."""
    page = _Pages(Ink(color), min(width, MAX_WIDTH))
    if len(diagnoses) == 1:
        return "\n".join(page.one(diagnoses[0])) + "\n"
    shown = list(diagnoses)
    lines = page.summary(diagnoses)
    if len(diagnoses) > ALL_PAGES:
        shown = [diagnosis for diagnosis in diagnoses if diagnosis.verdict == "unhealthy"][:ALL_PAGES]
    for diagnosis in shown:
        lines += ["", page.rule(), *page.one(diagnosis)]
    hidden = len(diagnoses) - len(shown)
    if hidden:
        lines += ["", *wrap(f"{amount(hidden, 'more page')} not shown. {_WHERE_THE_REST_IS}", page.width)]
    return "\n".join(lines) + "\n"


class _Pages:
    """Lays out pages for one terminal."""

    def __init__(self, ink: Ink, width: int) -> None:
        self.ink = ink
        self.width = max(width, 40)

    def one(self, diagnosis: Diagnosis) -> list[str]:
        lines = self.title(diagnosis)
        if diagnosis.verdict == "healthy":
            return lines + self.checked(diagnosis)
        if headline(diagnosis):
            lines += wrap(headline(diagnosis), self.width)
        for section in (
            self.curves(diagnosis), self.seen(diagnosis), self.most_likely(diagnosis), self.also(diagnosis),
            self.known(diagnosis),
            self.alternatives(diagnosis),
            self.closing(diagnosis),
        ):  # fmt: skip
            if section:
                lines += ["", *section]
        return lines

    def title(self, diagnosis: Diagnosis) -> list[str]:
        verdict = VERDICT_WORD[diagnosis.verdict]
        after = f" · {length_of(diagnosis)}" if length_of(diagnosis) else ""
        room = self.width - len("traindx · ") - cell_len(after) - len(verdict) - 2
        left = f"traindx · {shorten(run_name(diagnosis), max(room, 12))}{after}"
        lines = ends(left, verdict, self.width)
        lines[-1] = lines[-1].removesuffix(verdict) + self.ink(verdict, _STYLES[diagnosis.verdict])
        return lines

    def rule(self) -> str:
        return self.ink("─" * self.width, "dim")

    def curves(self, diagnosis: Diagnosis) -> list[str]:
        """The objective and, smaller, the validation curve, on one scale of steps and with their labels aligned."""
        shown = curves_of(diagnosis)
        margin = max((label_width(curve.values) for curve in shown), default=0)
        columns = min(_CURVE_COLUMNS, self.width - margin - 5)
        lines: list[str] = []
        for place, curve in enumerate(shown):
            rows = 3 if place == 0 else 2
            picture = sparkline(curve.steps, curve.values, columns=columns, rows=rows, margin=margin)
            lines += self.captioned(picture, caption(curve, diagnosis.run.axis))
        return lines + hanging("", results_of(diagnosis), 2, self.width)

    def captioned(self, picture: list[str], told: str) -> list[str]:
        """The words beside the picture where there is room, else below it."""
        across = max((cell_len(line) for line in picture), default=0)
        room = self.width - across - 5
        if not picture or room < _CAPTION_ROOM:
            return [*(f"  {self.ink(line, 'cyan')}" for line in picture), *hanging("", [told], 2, self.width)]
        beside = wrap(told, room)
        beside = [""] * ((len(picture) - len(beside)) // 2) + beside
        lines = []
        for line, text in zip_longest(picture, beside, fillvalue=""):
            drawn = pad(line, across) if text else line.rstrip()
            lines.append(f"  {self.ink(drawn, 'cyan')}   {text}".rstrip())
        return lines

    def seen(self, diagnosis: Diagnosis) -> list[str]:
        shown = telling(diagnosis, _MOST["seen"])
        if not shown:
            return []
        column = max(len(clean(symptom.id)) for symptom in shown) + 3
        lines = []
        said: dict[str, str] = {}
        for symptom in shown:
            first = said.setdefault(symptom.evidence, symptom.id)
            told = placed(symptom, diagnosis.run.axis) if first == symptom.id else f"as {clean(first)} says"
            lines += hanging(f"    {clean(symptom.id)}", [told], column + 3, self.width)
        rest = [s.id for s in telling(diagnosis, len(diagnosis.symptoms)) if s not in shown]
        if rest:
            lines.append(f"    and {joined(rest, 8)}")
        return [f"  {self.ink('Symptoms', 'heading')}", *lines]

    def most_likely(self, diagnosis: Diagnosis) -> list[str]:
        first = leading(diagnosis)
        if first is None:
            return []
        surest = all(first.confidence >= h.confidence for h in diagnosis.hypotheses if h.cause != OTHER)
        label = "Most likely" if surest else "Suspected"
        lines = self.explanation(label, first)
        lines += self.labelled("for", supports(diagnosis, first)[: _MOST["for"]])
        lines += self.labelled("against", [clean(text) for text in first.contradicts[: _MOST["against"]]])
        lines += self.fix(first)
        lines += self.labelled("do not", [clean(text) for text in first.do_not[: _MOST["do not"]]])
        return lines

    def also(self, diagnosis: Diagnosis) -> list[str]:
        """What is at work beside the first cause."""
        lines: list[str] = []
        spelled = {symptom.evidence: symptom for symptom in telling(diagnosis, _MOST["seen"])}
        for hypothesis in diagnosis.also:
            lines += self.explanation("Also", hypothesis)
            told = zip(hypothesis.supports, seen_at(diagnosis, hypothesis), strict=True)
            proof = [_named(spelled[text]) if text in spelled else sentence for text, sentence in told]
            lines += self.labelled("for", proof[: _MOST["for"]])
            if hypothesis.fix is not None:
                lines += self.labelled(
                    "fix", [f"{clean(hypothesis.fix.title)}; how: traindx explain {hypothesis.fix.id}"]
                )
        return lines

    def known(self, diagnosis: Diagnosis) -> list[str]:
        """Known issues of the library versions."""
        told = [text for note in diagnosis.known_issues for text in (known_issue(note), note.source)]
        return self.section("Known issue", told)

    def explanation(self, label: str, hypothesis: Hypothesis) -> list[str]:
        """One explanation on one line: its probability, its name in words, its id at the right edge."""
        lead = f"  {label:<11}  {percent(hypothesis.confidence):>4}"
        lines = hanging(lead, [title_of(hypothesis)], _TITLE, self.width)
        lines[-1:] = ends(lines[-1], clean(hypothesis.cause), self.width)
        if label:
            lines[0] = lines[0].replace(label, self.ink(label, "heading"), 1)
        return lines

    def fix(self, hypothesis: Hypothesis) -> list[str]:
        if hypothesis.fix is None:
            return []
        fix = hypothesis.fix
        if hypothesis.confidence < UNSURE:
            return self.labelled("if so", [f"{clean(fix.title)}; how: traindx explain {fix.id}"])
        lines = self.labelled("fix", [f"{clean(fix.title)} ({fix.id}, {fix.safety})"])
        code = narrowed(clean_lines(fix.code), self.width - _LABEL)
        indent = " " * max(_LABEL // 2, min(_LABEL, self.width - max(cell_len(line) for line in code)))
        lines += [f"{indent}{self.ink(line, 'cyan')}".rstrip() for line in code[: _MOST["code"]]]
        if len(code) > _MOST["code"]:
            lines.append(f"{indent}… {len(code) - _MOST['code']} more lines: traindx explain {fix.id}")
        if hypothesis.alternatives:
            then = [f"{clean(other.title)} ({other.id})" for other in hypothesis.alternatives]
            lines += self.labelled("or", ["; ".join(then[:3])])
        return lines

    def alternatives(self, diagnosis: Diagnosis) -> list[str]:
        """The other explanations: the likelier ones a line each, the rest together, what the catalogue lacks last."""
        listed = [h for h in others(diagnosis) if h.cause != OTHER]
        lines = []
        for place, hypothesis in enumerate(listed[: _MOST["else"]]):
            label = ("Could be" if leading(diagnosis) is None else "Else") if place == 0 else ""
            lines += self.explanation(label, hypothesis)
            if hypothesis.confidence >= _RIVAL and hypothesis.contradicts and hypothesis.cause != HEALTHY:
                lines += hanging("", [f"against: {objection(diagnosis, hypothesis)}"], _TITLE, self.width)
        rest = [f"{h.cause} {percent(h.confidence)}" for h in listed[_MOST["else"] :]]
        unknown = [f"something else {percent(h.confidence)}" for h in others(diagnosis) if h.cause == OTHER]
        if rest or unknown:
            label = "" if lines else "  Else"
            ending = hanging(label, [" · ".join([*rest, *unknown])], _TITLE, self.width)
            lines += [ending[0].replace(label, self.ink(label, "heading"), 1) if label else ending[0], *ending[1:]]
        return lines

    def closing(self, diagnosis: Diagnosis) -> list[str]:
        lines: list[str] = []
        lines += self.missing(diagnosis)
        lines += self.section("Note", notes_of(diagnosis)[: _MOST["notes"]])
        lines += self.section("Next", [clean(diagnosis.next)] if diagnosis.next else [])
        return lines

    def missing(self, diagnosis: Diagnosis) -> list[str]:
        texts: list[str] = []
        lacking = wanted(diagnosis)
        before: tuple[str, ...] = ()
        for item in lacking[: _MOST["missing"]]:
            ids = joined([clean(name) for name in item.would_decide], 3)
            decides = "" if not ids else " (decides the same)" if item.would_decide == before else f" (decides {ids})"
            before = item.would_decide
            how = f": {clean(item.how)}" if item.how else ""
            texts.append(f"{clean(item.evidence)}{decides}{how}")
        left = len(lacking) - len(texts)
        if left > 0:
            texts.append(f"and {left} more (--format md lists them)")
        return self.section("Not measured", texts)

    def checked(self, diagnosis: Diagnosis) -> list[str]:
        """A healthy run: what was checked, what was not, and what is worth knowing all the same."""
        absent, unknown = ids_of(diagnosis, "absent"), ids_of(diagnosis, "unknown")
        room = 2 * (self.width - _SECTION) - _RAGGED
        sure = f"{percent(diagnosis.hypotheses[0].confidence)} healthy; " if diagnosis.hypotheses else ""
        lines = self.section("Results", results_of(diagnosis))
        lines += self.section("Checked", [fitting(f"{sure}{len(absent)} symptoms ruled out: ", absent, room)])
        lacking = joined([clean(item.evidence) for item in wanted(diagnosis)], 2)
        why = f"{len(unknown)} symptoms" + (f" (for want of {lacking}): " if lacking else ": ")
        lines += self.section("Not checked", [fitting(why, unknown, room) if unknown else "nothing was left out"])
        present = [f"{clean(s.id)}: {clean(s.evidence)}" for s in diagnosis.present()]
        lines += self.known(diagnosis)
        return lines + self.section("Note", [*present, *notes_of(diagnosis)][: _MOST["notes"]])

    def summary(self, diagnoses: Sequence[Diagnosis]) -> list[str]:
        """One line a run, and how many there are of each kind."""
        folder = folder_of(diagnoses)
        rows = [["run", "length", "verdict", "symptom", "most likely", ""]]
        for diagnosis in diagnoses:
            first = leading(diagnosis)
            guess = ("", "") if first is None else (first.cause, percent(first.confidence))
            symptom = "" if diagnosis.verdict == "healthy" else main_symptom(diagnosis)
            name = run_name(diagnosis).removeprefix(folder)
            rows.append([name, length_of(diagnosis), diagnosis.verdict, symptom, *guess])
        lines = table(_fitting(rows, self.width), right=frozenset({"length", ""}))
        coloured = [self.ink(lines[0], "dim")]
        for line, diagnosis in zip(lines[1:], diagnoses, strict=True):
            verdict = f"  {diagnosis.verdict}"
            coloured.append(line.replace(verdict, self.ink(verdict, _STYLES[diagnosis.verdict]), 1))
        tally = Counter(diagnosis.verdict for diagnosis in diagnoses)
        kinds = ", ".join(f"{tally[verdict]} {verdict}" for verdict in ("unhealthy", "inconclusive", "healthy"))
        where = f" in {folder}" if folder else ""
        return [*wrap(f"traindx · {amount(len(diagnoses), 'run')}{where}: {kinds}", self.width), "", *coloured]

    def labelled(self, label: str, texts: Sequence[str]) -> list[str]:
        return self._hang(f"    {label}", label, texts, _LABEL)

    def section(self, label: str, texts: Sequence[str]) -> list[str]:
        return self._hang(f"  {label}", label, texts, _SECTION)

    def _hang(self, lead: str, label: str, texts: Sequence[str], indent: int) -> list[str]:
        lines = hanging(lead, texts, indent, self.width)
        if lines:
            lines[0] = lines[0].replace(label, self.ink(label, "heading"), 1)
        return lines


def _named(symptom: Observation) -> str:
    """A symptom that stands above in full: its id, and its place again, which is where to look."""
    return ", ".join(clean(part) for part in (symptom.id, symptom.where) if part)


def _fitting(rows: list[list[str]], width: int) -> list[list[str]]:
    """The table with its first column shortened to fit; a narrow terminal loses what the pages tell anyway."""
    for unneeded in ("length", "", "symptom", "most likely", "verdict"):
        rest = sum(max(cell_len(row[column]) for row in rows) + 2 for column in range(1, len(rows[0])))
        if width - rest >= _RUN_ROOM or len(rows[0]) <= 2:
            break
        place = rows[0].index(unneeded)
        rows = [row[:place] + row[place + 1 :] for row in rows]
    return [[shorten(row[0], max(width - rest, _RUN_ROOM)), *row[1:]] for row in rows]


REPORTER = Reporter("text", "text", "a page for the terminal", (".txt",), render)
