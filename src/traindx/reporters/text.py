"""The page in a terminal: the first line answers, the rest proves it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import zip_longest

from rich.cells import cell_len

from traindx import commands
from traindx.diagnosis import UNSURE, Diagnosis, Hypothesis, Observation, Verdict
from traindx.reporters.base import Reporter
from traindx.reporters.layout import Ink, Style, ends, hanging, narrowed, pad, shorten, table, wrap
from traindx.reporters.patch import recipe
from traindx.reporters.sparkline import caption, curves_of, label_width, results_of, sparkline
from traindx.reporters.unclear import RATE, USUALLY, checks, context, heading
from traindx.reporters.wording import (
    ENDS,
    HEALTHY,
    OTHER,
    SAFETY,
    SMALL,
    VERDICT_WORD,
    amount,
    clean,
    details,
    ended,
    first_of_each_story,
    folder_of,
    headline,
    ids_of,
    joined,
    known_issue,
    leading,
    length_of,
    main_symptom,
    notes_of,
    others,
    percent,
    placed,
    run_name,
    seen_at,
    telling,
    title_of,
    wanted,
)

MAX_WIDTH = 100
PAGE = 30  # lines of a page at MAX_WIDTH, unless the detail is asked for
ALL_PAGES = 3  # up to this many runs every page is shown in full; beyond, the table and the worst pages
_STYLES: dict[Verdict, Style] = {"healthy": "green", "unhealthy": "red", "inconclusive": "yellow"}
_CURVE_COLUMNS = 44
BY_LAYER = "Gradient norms by layer"  # how that figure begins (engine/figures.py)
_CAPTION_ROOM = 24  # narrower than this a caption is a ladder of single words
_WHERE_THE_REST_IS = "`traindx diagnose` with one run's path shows that run; `-o report.md` writes every page."
_RIVAL = 0.1  # an explanation this likely beside the first gets a line on what speaks against it
_LABEL = 13  # where the text beside 'for', 'against', 'fix' begins
_SENTENCE = re.compile(r"((?:.{20,}?\.){2}) [A-Z].*")  # two sentences of a note, and what else it says
_RIGHT = frozenset({"length", ""})  # columns of the overview that align to the right
_TITLE = 22  # where the name of an explanation begins
_SECTION = 17  # where the text beside 'Not measured', 'Next' begins
_SHORT = {
    "why": 2,
    "also": 2,
    "or": 3,
    "seen": 3,
    "against": 1,
    "do not": 2,
    "code": 6,
    "diff": 10,
    "else": 3,
    "missing": 1,
    "notes": 3,
    "figures": 3,
    "tokens": 4,
}
_FULL = {
    "why": 3,
    "also": 3,
    "or": 8,
    "seen": 40,
    "against": 8,
    "do not": 8,
    "code": 60,
    "diff": 60,
    "else": 12,
    "missing": 8,
    "notes": 20,
    "figures": 8,
    "tokens": 12,
}
# what a page gives up, step by step, until it has no more than PAGE lines: what proves the answer goes last
_BRIEFER: tuple[Mapping[str, int], ...] = (
    {}, {"tokens": 3}, {"seen": 2, "figures": 2, "do not": 1, "notes": 2},
    {"or": 0, "notes": 1, "code": 4}, {"seen": 1, "also": 1, "tokens": 2}, {"seen": 0}, {"figures": 1},
    {"else": 1, "against": 0, "diff": 6}, {"figures": 0}, {"notes": 0, "do not": 0}, {"why": 1},
    {"code": 2, "diff": 4}, {"tokens": 0},
)  # fmt: skip


def render(diagnoses: Sequence[Diagnosis], *, color: bool, width: int) -> str:
    """One page for one run; a summary table first for several, and full pages only for the worst of many."""
    return _rendered(diagnoses, _Pages(Ink(color), min(width, MAX_WIDTH), _SHORT))


def render_all(diagnoses: Sequence[Diagnosis], *, color: bool, width: int) -> str:
    """The same with everything that a page leaves out for brevity."""
    return _rendered(diagnoses, _Pages(Ink(color), min(width, MAX_WIDTH), _FULL))


def _rendered(diagnoses: Sequence[Diagnosis], page: _Pages) -> str:
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

    def __init__(self, ink: Ink, width: int, most: Mapping[str, int]) -> None:
        self.ink = ink
        self.width = max(width, 40)
        self.most = most  # how many of each kind are shown
        self.full = most is _FULL
        self.script = "train.py"  # of the run whose page is laid out

    def one(self, diagnosis: Diagnosis) -> list[str]:
        """The page in as much detail as a screen holds."""
        lines = self.whole(diagnosis)
        asked = self.most
        for less in () if self.full else _BRIEFER:
            self.most = {**self.most, **less}
            lines = self.whole(diagnosis)
            if len(lines) <= PAGE:
                break
        self.most = asked
        return lines

    def whole(self, diagnosis: Diagnosis) -> list[str]:
        """The answer first: verdict, cause and fix; then what proves it; then what was not measured and what to do."""
        self.script = str(diagnosis.run.config.get("recording.script") or self.script)
        lines = self.title(diagnosis)
        if diagnosis.verdict == "healthy":
            return lines + self.healthy(diagnosis)
        if headline(diagnosis):
            lines += wrap(f"{headline(diagnosis)}{self.named(diagnosis)}", self.width)
        for section in (
            self.answer(diagnosis), self.also(diagnosis), self.known(diagnosis), self.curves(diagnosis),
            self.seen(diagnosis), self.tokens(diagnosis), self.samples(diagnosis), self.alternatives(diagnosis),
            self.closing(diagnosis),
        ):  # fmt: skip
            if section:
                lines += ["", *section]
        return lines

    def named(self, diagnosis: Diagnosis) -> str:
        """The id of the symptom that the headline is the sentence of, to look it up by."""
        said = headline(diagnosis)
        found = next((symptom.id for symptom in diagnosis.present() if said.startswith(clean(symptom.evidence))), "")
        return f" ({clean(found)})" if found and found not in ENDS and f"{found}," not in said else ""

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
            rows = 1 if min(curve.values) == max(curve.values) else 3 if place == 0 else 2
            picture = sparkline(curve.steps, curve.values, columns=columns, rows=rows, margin=margin)
            lines += self.captioned(picture, caption(curve, diagnosis.run.axis))
        lines += hanging("", results_of(diagnosis), 2, self.width)
        facts = [text for text in diagnosis.figures if self.full or _worth_a_line(text, diagnosis.verdict == "healthy")]
        return lines + hanging("", [clean(text) for text in facts[: self.most["figures"]]], 2, self.width)

    def captioned(self, picture: list[str], text: str) -> list[str]:
        """The words beside the picture where there is room, else below it."""
        across = max((cell_len(line) for line in picture), default=0)
        room = self.width - across - 5
        if not picture or room < _CAPTION_ROOM:
            return [*(f"  {self.ink(line, 'cyan')}" for line in picture), *hanging("", [text], 2, self.width)]
        details = wrap(text, room)
        details = [""] * ((len(picture) - len(details)) // 2) + details
        lines = []
        for line, words in zip_longest(picture, details, fillvalue=""):
            drawn = pad(line, across) if words else line.rstrip()
            lines.append(f"  {self.ink(drawn, 'cyan')}   {words}".rstrip())
        return lines

    def seen(self, diagnosis: Diagnosis) -> list[str]:
        """What was seen besides what the answer rests on, the weightiest first."""
        above = {symptom.evidence for symptom in self._proof(diagnosis)}
        above |= {text for hypothesis in diagnosis.also for text in hypothesis.supports[: self.most["why"]]}
        present = [symptom for symptom in telling(diagnosis) if symptom.evidence not in above]
        if diagnosis.verdict == "unhealthy" or leading(diagnosis):  # there was enough to tell
            present = [symptom for symptom in present if symptom.id != "too-short"]
        shown = present if self.full else first_of_each_story(diagnosis, present, self._proof(diagnosis))
        shown = list({symptom.evidence: symptom for symptom in reversed(shown)}.values())[::-1][: self.most["seen"]]
        label = "Also seen" if above or headline(diagnosis) else "Seen"
        heading = f"  {self.ink(label, 'heading')}"
        if not shown:
            ids = [clean(symptom.id) for symptom in present]
            return self.section(label, [joined(ids, 6)] if ids else [])
        column = max(len(clean(symptom.id)) for symptom in shown) + 3
        lines = []
        for symptom in shown:
            text = placed(symptom, diagnosis.run.axis)
            lines += hanging(f"    {clean(symptom.id)}", [text], column + 3, self.width)
        said = {symptom.evidence for symptom in shown}
        rest = [symptom.id for symptom in present if symptom.evidence not in said]
        if rest:
            lines += hanging("", [f"and {joined(rest, 6)}"], 4, self.width)
        return [heading, *lines]

    def tokens(self, diagnosis: Diagnosis) -> list[str]:
        """A sample as the loss sees it, where that is what is wrong; every kept sample in the long page."""
        if not diagnosis.batches or not self.most["tokens"]:
            return []
        from traindx.reporters.batches.excerpt import about_tokens, excerpt, title

        if not (self.full or about_tokens(diagnosis)):
            return []
        lines: list[str] = []
        for batch in diagnosis.batches if self.full else diagnosis.batches[:1]:
            lines.append(f"  {self.ink(title(batch).capitalize(), 'heading')}")
            samples = len(batch.samples) if self.full else 1
            shown = excerpt(
                batch, samples=samples, lines=self.most["tokens"], color=self.ink.color, width=self.width - 4
            )
            lines += [f"    {line}" for line in shown]
        return lines

    def samples(self, diagnosis: Diagnosis) -> list[str]:
        """In the long page only: pictures are in the HTML report."""
        if not (self.full and diagnosis.samples):
            return []
        from traindx.reporters.readouts import heading, line

        lines: list[str] = []
        for found in diagnosis.samples:
            lines += [f"  {self.ink(one, 'heading')}" for one in wrap(heading(found), self.width - 2)]
            for sample in found.samples:
                lines += hanging("    ", [line(found, sample)], 6, self.width)
        return lines

    def _proof(self, diagnosis: Diagnosis) -> list[Observation]:
        """The symptoms that the leading explanation rests on most: they are part of the answer."""
        first = leading(diagnosis)
        if first is None:
            return []
        proof = {one.evidence: one for one in reversed(telling(diagnosis)) if one.evidence in first.supports}
        return list(proof.values())[::-1][: self.most["why"]]

    def answer(self, diagnosis: Diagnosis) -> list[str]:
        first, found = leading(diagnosis), checks(diagnosis)
        if first is None or found:
            return self.unclear(diagnosis, found) if found else []
        lines = self.explanation("Most likely", first)
        lines += self.line_of(first)
        lines += self.fix(first)
        spelled = {symptom.evidence for symptom in diagnosis.present()}
        proof = [placed(symptom, diagnosis.run.axis) for symptom in self._proof(diagnosis)]
        proof += [clean(text) for text in first.supports if text not in spelled][: self.most["why"]]
        lines += self.labelled("why", proof)
        lines += self.labelled("against", [clean(text) for text in first.contradicts[: self.most["against"]]])
        if first.alternatives and first.confidence >= UNSURE and self.most["or"]:
            then = [f"{clean(other.title)} ({other.id})" for other in first.alternatives[: self.most["or"]]]
            lines += self.labelled("or", ["; ".join(then)])
        if first.confidence >= UNSURE:  # a guess warns of nothing
            lines += self.labelled("do not", [clean(text) for text in first.do_not[: self.most["do not"]]])
        return lines

    def line_of(self, hypothesis: Hypothesis) -> list[str]:
        """The line to change, unless a diff says it."""
        patched = hypothesis.fix is not None and hypothesis.fix.diff
        return self.labelled("line", [clean(hypothesis.where)] if hypothesis.where and not patched else [])

    def unclear(self, diagnosis: Diagnosis, found: list[tuple[Hypothesis, str]]) -> list[str]:
        """The candidates, each with what the run says for it and what tells it from the others."""
        lines = [f"  {self.ink(line, 'heading')}" for line in wrap(heading(found), self.width - 2)]
        for hypothesis, check in found:
            lines += self.explanation("", hypothesis)
            lines += hanging("", [clean(text) for text in [context(diagnosis, hypothesis)] if text], _TITLE, self.width)
            text = clean(check) if check else f"traindx explain {clean(hypothesis.cause)}"
            lines += hanging("", [text], _TITLE, self.width)
        return lines

    def also(self, diagnosis: Diagnosis) -> list[str]:
        """What is at work beside the first cause."""
        lines: list[str] = []
        for hypothesis in diagnosis.also:
            lines += self.explanation("Also", hypothesis)
            lines += self.line_of(hypothesis)
            lines += self.labelled("why", seen_at(diagnosis, hypothesis)[: self.most["also"]])
            if hypothesis.fix is not None and hypothesis.fix.diff:
                lines += self.fix(hypothesis)
            elif hypothesis.fix is not None:
                lines += self.labelled(
                    "fix", [f"{clean(hypothesis.fix.title)}; how: traindx explain {hypothesis.fix.id}"]
                )
        return lines

    def known(self, diagnosis: Diagnosis) -> list[str]:
        """Known issues of the library versions."""
        texts = [text for note in diagnosis.known_issues for text in (known_issue(note), note.source)]
        return self.section("Known issue", texts)

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
        lines = self.labelled("fix", [f"{clean(fix.title)} ({fix.id}, {SAFETY[fix.safety]})"])
        code = narrowed(recipe(fix), self.width - _LABEL)
        most = self.most["diff" if fix.diff else "code"]
        indent = " " * max(_LABEL // 2, min(_LABEL, self.width - max(cell_len(line) for line in code[:most])))
        lines += [f"{indent}{self.coloured(line, bool(fix.diff))}".rstrip() for line in code[:most]]
        if len(code) > most:
            where = commands.typed(commands.FIX, script=self.script) if fix.diff else f"traindx explain {fix.id}"
            lines.append(f"{indent}… {amount(len(code) - most, 'more line')}: {where}")
        return lines

    def coloured(self, line: str, diff: bool) -> str:
        """A line of code, or of a diff by what it does."""
        styles: dict[str, Style] = {"-": "red", "+": "green", " ": "dim"} if diff else {}
        return self.ink(line, styles.get(line[:1], "dim" if diff else "cyan"))

    def alternatives(self, diagnosis: Diagnosis) -> list[str]:
        """The other explanations, a line each; what is unlikely is left to `-v`."""
        if leading(diagnosis) is None and not self.full:
            return []
        listed = [h for h in others(diagnosis) if h.cause != OTHER and (self.full or h.confidence >= SMALL)]
        listed = listed[: self.most["else"]]
        lines = []
        for place, hypothesis in enumerate(listed):
            lines += self.explanation("Else" if place == 0 else "", hypothesis)
            if hypothesis.confidence >= _RIVAL and hypothesis.cause != HEALTHY:
                lines += hanging("", details(diagnosis, hypothesis), _TITLE, self.width)
        return lines

    def closing(self, diagnosis: Diagnosis) -> list[str]:
        lines: list[str] = []
        lines += self.missing(diagnosis)
        lines += self.section("Asked", [clean(f"{asked} → {answer}") for asked, answer in diagnosis.asked])
        lines += self.section("Note", self.notes(diagnosis))
        lines += self.section("Next", [clean(diagnosis.next)] if diagnosis.next else [])
        return lines

    def missing(self, diagnosis: Diagnosis) -> list[str]:
        if ended(diagnosis):
            return []
        texts: list[str] = []
        lacking = wanted(diagnosis)
        for item in lacking[: self.most["missing"]]:
            if item.how and item.how in diagnosis.next and not self.full:  # the last line says how, and what for
                texts.append(clean(item.evidence))
                continue
            ids = joined([clean(name) for name in item.would_decide], 3)
            settles = f" (would settle {ids})" if ids else ""
            how = f": {clean(item.how)}" if item.how else ""
            texts.append(f"{clean(item.evidence)}{settles}{how}")
        left = len(lacking) - len(texts)
        if left > 0 and texts:
            texts[-1] += f" (and {left} more: -v)"
        return self.section("Not measured", texts)

    def healthy(self, diagnosis: Diagnosis) -> list[str]:
        """A healthy run: its results, what was checked, what was not, and what is worth knowing all the same."""
        absent, unknown = ids_of(diagnosis, "absent"), ids_of(diagnosis, "unknown")
        sure = f" (confidence {percent(diagnosis.hypotheses[0].confidence)})" if diagnosis.hypotheses else ""
        passed = f"{amount(len(absent), 'check')} passed."
        lines = hanging("", [f"No problem found{sure}. {passed}"], 2, self.width)
        if self.full and absent:
            lines += hanging("", [", ".join(absent)], 4, self.width)
        lines += self.curves(diagnosis)
        lines += self.samples(diagnosis)
        ways = [clean(item.how) for item in wanted(diagnosis) if item.how]
        if unknown:
            need = f"{amount(len(unknown), 'check')} {'needs' if len(unknown) == 1 else 'need'} more data"
            lines += self.section("Not measured", [f"{need}: {'; '.join(ways[:2])}." if ways else f"{need}."])
            if self.full:
                lines += hanging("", [", ".join(unknown)], _SECTION, self.width)
        present = [f"{clean(s.id)}: {placed(s, diagnosis.run.axis)}" for s in diagnosis.present()]
        lines += self.known(diagnosis)
        return lines + self.section("Note", [*present, *self.notes(diagnosis)][: self.most["notes"]])

    def notes(self, diagnosis: Diagnosis) -> list[str]:
        """Whole in the long page; else of each what it begins with, since what is general stands behind it."""
        found = notes_of(diagnosis)[: self.most["notes"]]
        return found if self.full else [_SENTENCE.sub(r"\1", text) for text in found]

    def summary(self, diagnoses: Sequence[Diagnosis]) -> list[str]:
        """One line a run, and how many there are of each kind."""
        folder = folder_of(diagnoses)
        rows = [["run", "length", "verdict", "symptom", "most likely", ""]]
        for diagnosis in diagnoses:
            first = leading(diagnosis)
            unclear = "unclear" if diagnosis.verdict == "unhealthy" else ""
            guess = (unclear, "") if first is None else (first.cause, percent(first.confidence))
            symptom = "" if diagnosis.verdict == "healthy" else main_symptom(diagnosis)
            name = run_name(diagnosis).removeprefix(folder)
            rows.append([name, length_of(diagnosis), diagnosis.verdict, symptom, *guess])
        head, *runs = _stacked(rows, self.width)
        coloured = [self.ink(line, "dim") for line in head]
        for lines, diagnosis in zip(runs, diagnoses, strict=True):
            verdict = f"  {diagnosis.verdict}"
            last = lines[-1].replace(verdict, self.ink(verdict, _STYLES[diagnosis.verdict]), 1)
            coloured += [*lines[:-1], last]
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


def _worth_a_line(figure: str, healthy: bool) -> bool:
    """Of a healthy run the norms of single layers only raise questions, and a rate is worth a line where it is unusual:
    the long page has both."""
    return USUALLY in figure if figure.startswith(RATE) else not (healthy and figure.startswith(BY_LAYER))


def _stacked(rows: list[list[str]], width: int) -> list[list[str]]:
    """The lines of the head and of each run. Where a name does not fit beside the rest it stands above it: two names
    that are cut in the middle may look the same. What the pages tell anyway is left out where there is no room."""
    for unneeded in ("length", "symptom"):
        if _room(rows, width) >= 0:
            break
        place = rows[0].index(unneeded)
        rows = [row[:place] + row[place + 1 :] for row in rows]
    above = max(cell_len(row[0]) for row in rows) > _room(rows, width)
    lines = table([["", *row[1:]] for row in rows] if above else rows, right=_RIGHT)
    return [[*(wrap(row[0], width) if above else []), line] for row, line in zip(rows, lines, strict=True)]


def _room(rows: list[list[str]], width: int) -> int:
    """For the first column, beside the others."""
    return width - sum(max(cell_len(row[column]) for row in rows) + 2 for column in range(1, len(rows[0])))


REPORTER = Reporter("text", "text", "a page for the terminal", (".txt",), render, render_all=render_all)
