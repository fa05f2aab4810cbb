"""The fixes of a page as patches of the user's own script, where it is the script that was recorded.

Nothing is written and nothing runs: the edits that a trial would make are made in memory, and only those that are sure
of their place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from traindx.diagnosis import Diagnosis, FixProposal, Hypothesis
from traindx.errors import TraindxError
from traindx.fixes import fixes
from traindx.trials.editing import Evidence, available, diff_of, edited
from traindx.trials.plan import on_the_command_line
from traindx.trials.setting import Setting, combined
from traindx.versions import digest_of

RESET = "spike-at-rate-change"


def in_own_lines(page: Diagnosis, places: Sequence[Path], arguments: Sequence[str] = ()) -> Diagnosis:
    """The page with the fix of its first cause, and of those beside it, as diffs. `places`: directories in which the
    recorded script is looked for. The page as it is where the script is not there or is another by now."""
    script = recorded_script(page, places)
    if script is None or not available() or page.verdict == "healthy":
        return page
    root = script.parent
    evidence = Evidence.of(page)

    def proposed(fix: FixProposal | None) -> FixProposal | None:
        if fix is None or not fix.change or fix.diff:
            return fix
        try:
            settings = combined(fix.change)
        except TraindxError:
            return fix
        if any(on_the_command_line(setting, arguments) for setting in settings) or not _fits(fix, settings, page):
            return fix
        changed = edited(root, script, settings, evidence)
        return fix if changed is None else replace(fix, diff=diff_of(root, changed))

    def of(hypothesis: Hypothesis) -> Hypothesis:
        alternatives = tuple(one for fix in hypothesis.alternatives if (one := proposed(fix)) is not None)
        return replace(hypothesis, fix=proposed(hypothesis.fix), alternatives=alternatives)

    first = tuple(of(one) for one in page.hypotheses[:1])
    return replace(page, hypotheses=(*first, *page.hypotheses[1:]), also=tuple(of(one) for one in page.also))


def _fits(fix: FixProposal, settings: Sequence[Setting], page: Diagnosis) -> bool:
    """Whether the line that would change is the one to change: a rate that was set anew on the way is not the one that
    the optimiser was made with, and to lower it is not to raise that one."""
    rate = next((setting for setting in settings if setting.name == "lr"), None)
    made_with = page.run.config.get("lr")
    if rate is None or not isinstance(made_with, int | float) or made_with <= 0:
        return rate is None
    if any(symptom.id == RESET for symptom in page.present()):
        return False
    usual = next((one for text in fixes()[fix.id].tries for one in combined(text) if one.name == "lr"), rate)
    return (rate.number(made_with) < made_with) == (usual.number(made_with) < made_with)


def recorded_script(page: Diagnosis, places: Sequence[Path]) -> Path | None:
    """The script of a recording, where a file of that name has the content that was recorded."""
    name, digest = page.run.config.get("recording.script"), page.run.config.get("recording.script_digest")
    if not isinstance(name, str) or not name.endswith(".py") or not digest:
        return None
    found = (place / name for place in places)
    return next((path.resolve() for path in found if digest_of(path) == digest), None)
