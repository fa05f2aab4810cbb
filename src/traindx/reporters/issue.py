"""A short Markdown block to paste into an issue or a thread: the answer, the evidence, the versions and the command.

It goes to people outside, so it holds no path but the run's name and no secret, and nothing from the log becomes
markup."""

from __future__ import annotations

import platform
import re
import shlex
from collections.abc import Sequence

from traindx.diagnosis import UNSURE, Diagnosis, Hypothesis
from traindx.reporters.base import Reporter
from traindx.reporters.markdown import block, code, escaped, language_of, row
from traindx.reporters.patch import recipe
from traindx.reporters.scrub import base_of, scrubbed
from traindx.reporters.unclear import checks, heading
from traindx.reporters.wording import (
    VERDICT_WORD,
    amount,
    clean,
    leading,
    length_of,
    main_symptom,
    percent,
    placed,
    telling,
    title_of,
)

_MOST_EVIDENCE = 5
_MOST_CODE = 5
_MOST_RUNS = 16  # with the lines around them, all of these stay within 25
_CHECKS = 3
_LONGEST = 300  # characters of a line that comes from the log
_GRAVE = ("unhealthy", "inconclusive", "healthy")
# the parts of an environment that people ask for first
_PACKAGES = (
    "python", "torch", "pytorch", "cuda", "transformers", "accelerate", "lightning", "pytorch_lightning", "deepspeed",
    "tensorflow",
    "keras", "jax", "flax", "mmengine", "mmcv", "ultralytics", "timm",
)  # fmt: skip
_VERSION = re.compile(r"v?\d+(?:\.\w+)+(?:[+-][\w.]+)?")


def render(diagnoses: Sequence[Diagnosis], *, color: bool, width: int) -> str:
    """At most 25 lines: one run in full, several as a table, the gravest first (colour and width do not matter)."""
    lines = _one(diagnoses[0]) if len(diagnoses) == 1 else _several(diagnoses)
    return "\n".join(lines) + "\n"


def _one(diagnosis: Diagnosis) -> list[str]:
    length = f" · {length_of(diagnosis)}" if length_of(diagnosis) else ""
    lines = [f"**traindx: {VERDICT_WORD[diagnosis.verdict]}** · {code(_name(diagnosis))}{length}", ""]
    shown = telling(diagnosis)[:_MOST_EVIDENCE]
    if clean(diagnosis.headline) not in {clean(symptom.evidence) for symptom in shown}:
        lines += [_sentence(diagnosis.headline, diagnosis), ""]
    first = leading(diagnosis)
    if first is not None:
        lines.append(f"**Most likely ({percent(first.confidence)}):** {_titled(first)}")
    else:
        lines += _checks(diagnosis)
    if shown:
        lines += ["", "**Evidence:**"] if lines[-1] else ["**Evidence:**"]
        lines += [f"- {_sentence(placed(symptom, diagnosis.run.axis), diagnosis)}" for symptom in shown]
    if first is not None:
        lines += _fix(first, diagnosis)
    return [*lines, "", _reproduce(diagnosis)]


def _checks(diagnosis: Diagnosis) -> list[str]:
    """The likeliest causes, each with the observation that tells it from the others."""
    found = checks(diagnosis)
    sentence = [
        f"- {_titled(h)}, {percent(h.confidence)}: {escaped(check) if check else f'`traindx explain {h.cause}`'}"
        for h, check in found
    ]
    return [f"**{heading(found)}**", *sentence] if sentence else []


def _fix(hypothesis: Hypothesis, diagnosis: Diagnosis) -> list[str]:
    fix = hypothesis.fix
    if fix is None:
        return []
    title = f"**Fix:** {escaped(fix.title)} ({code(fix.id)})"
    written = [scrubbed(line, diagnosis.run.source) for line in recipe(fix)]
    if hypothesis.confidence < UNSURE or len(written) > _MOST_CODE:
        return ["", f"{title}; how: `traindx explain {fix.id}`"]
    return ["", title, *block(written, "diff" if fix.diff else language_of(fix.code)).split("\n")]


def _several(diagnoses: Sequence[Diagnosis]) -> list[str]:
    ordered = sorted(diagnoses, key=lambda diagnosis: _GRAVE.index(diagnosis.verdict))
    counts = ", ".join(f"{sum(d.verdict == verdict for d in diagnoses)} {verdict}" for verdict in _GRAVE)
    head = ["| run | verdict | symptom | most likely |", "|---|---|---|---|"]
    lines = [f"**traindx: {amount(len(diagnoses), 'run')}**: {counts}", "", *head]
    for diagnosis in ordered[:_MOST_RUNS]:
        first = leading(diagnosis)
        guess = f"{code(first.cause)} {percent(first.confidence)}" if first is not None else ""
        symptom = "" if diagnosis.verdict == "healthy" else code(main_symptom(diagnosis))
        lines.append(row(code(_name(diagnosis)), diagnosis.verdict, symptom, guess))
    hidden = len(ordered) - _MOST_RUNS
    more = [f"{amount(hidden, 'more run')} not shown."] if hidden > 0 else []
    return [*lines, *(["", *more] if more else []), "", _reproduce(ordered[0])]


def _reproduce(diagnosis: Diagnosis) -> str:
    """What to type to see the same, and the versions that this run names."""
    versions = {"traindx": diagnosis.version, "python": platform.python_version()}
    for key, value in diagnosis.run.config.items():
        name = key.rpartition(".")[2].lower().removesuffix("_version").removesuffix("version")
        if name in _PACKAGES and isinstance(value, str) and (found := _VERSION.match(value)):
            versions["torch" if name == "pytorch" else name] = found.group()
    sentence = " · ".join(f"{name} {escaped(version)}" for name, version in versions.items())
    command = code(f"traindx diagnose {shlex.quote(base_of(diagnosis.run.source))}")
    return f"{sentence} · reproduce: {command}"


def _titled(hypothesis: Hypothesis) -> str:
    return f"{escaped(title_of(hypothesis))} ({code(hypothesis.cause)})"


def _sentence(text: str, diagnosis: Diagnosis) -> str:
    shown = scrubbed(clean(text), diagnosis.run.source)
    return escaped(shown if len(shown) <= _LONGEST else f"{shown[: _LONGEST - 1]}…")


def _name(diagnosis: Diagnosis) -> str:
    run = diagnosis.run
    return scrubbed(clean(f"{base_of(run.source)} ({run.name})" if run.name else base_of(run.source)))


REPORTER = Reporter("issue", "issue", "a short block to paste into an issue or a thread", (), render)
