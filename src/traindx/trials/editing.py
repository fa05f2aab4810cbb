"""Changes of the source itself: the script's own text with the least changed, or nothing where that would be a guess.

One module an edit in `edits/`, named after the setting it makes true; it defines `edit(module, setting, evidence)`,
which gives the changed module, or None where it finds no place that it is sure of."""

from __future__ import annotations

import difflib
import importlib
import importlib.util
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from traindx.diagnosis import Diagnosis
from traindx.errors import TraindxError
from traindx.secrets import hidden
from traindx.trials import source_text
from traindx.trials.setting import EDITS, Setting

if TYPE_CHECKING:
    import libcst

MOST_FILES = 20  # of the project that are looked into
_WHERE = re.compile(r"([^\s:]+\.py):(\d+)")


@dataclass(frozen=True)
class Evidence:
    """What the recording tells of the place of a fault."""

    config: Mapping[str, object] = field(default_factory=dict)
    places: Mapping[str, tuple[str, int]] = field(default_factory=dict)  # symptom → file name and line
    texts: Mapping[str, str] = field(default_factory=dict)  # symptom → what was seen, with its numbers
    lines: Mapping[str, tuple[str, int]] = field(default_factory=dict)  # cause → file name and line to change
    file: str = ""  # the name of the file that is being edited

    @classmethod
    def of(cls, page: Diagnosis) -> Evidence:
        places: dict[str, tuple[str, int]] = {}
        for symptom in page.present():
            found = _WHERE.search(f"{symptom.where or ''} {symptom.evidence}")
            if found:
                places[symptom.id] = (Path(found.group(1)).name, int(found.group(2)))
        lines = {
            h.cause: (Path(found.group(1)).name, int(found.group(2)))
            for h in (*page.also, *page.hypotheses)
            if h.where and (found := _WHERE.search(h.where))
        }
        return cls(page.run.config, places, {symptom.id: symptom.evidence for symptom in page.present()}, lines)

    def line(self, cause: str) -> int | None:
        """The line of a cause, where it stands in the file that is being edited."""
        file, line = self.lines.get(cause, ("", 0))
        return line if line and file == self.file else None

    def near(self, cause: str, symptom: str) -> list[int]:
        """The line of a cause, then the one at which a symptom was seen, as far as they stand in that file: a symptom
        may be seen later than where it is made."""
        file, line = self.places.get(symptom, ("", 0))
        found = [self.line(cause), line if file == self.file else None]
        return list(dict.fromkeys(one for one in found if one))


Edit = Callable[["libcst.Module", Setting, Evidence], "libcst.Module | None"]


MISSING = "Without libcst a fix is tried at run time and no diff is made"
INSTALL = "Install it with: pip install 'traindx[fix]'"


def available() -> bool:
    """libcst comes with the extra `fix`."""
    return importlib.util.find_spec("libcst") is not None


def require_edits() -> None:
    """For whoever wants the script itself changed."""
    if not available():
        raise TraindxError(f"{MISSING}.", f"{INSTALL}.")


def edited(
    root: Path, script: Path | None, settings: Sequence[Setting], evidence: Evidence,
    before: Mapping[str, str] | None = None
) -> dict[str, str] | None:  # fmt: skip
    """New contents of the source files that must change, by their path below the root; None where no edit is sure.
    `before`: contents that other changes have given some of them already."""
    if script is None or not available() or any(not (EDITS / f"{one.name}.py").exists() for one in settings):
        return None
    import libcst

    given = {root / name: text for name, text in (before or {}).items()}
    texts: dict[Path, str] = {}
    for setting in settings:
        edit: Edit = importlib.import_module(f"traindx.trials.edits.{setting.name}").edit
        for path in _sources(root, script):
            try:
                text = texts.get(path) or given.get(path) or source_text.read(path)
                changed = edit(libcst.parse_module(text), setting, replace(evidence, file=path.name))
            except (OSError, UnicodeDecodeError, libcst.ParserSyntaxError):
                continue
            if changed is not None and changed.code != text:
                texts[path] = changed.code
                break
        else:
            return None
    return {str(path.relative_to(root)): text for path, text in texts.items()} or None


def _sources(root: Path, script: Path) -> Iterator[Path]:
    """The script, then the modules of the project that it imports, directly or not."""
    line, seen = [script], {script}
    while line and len(seen) <= MOST_FILES:
        path = line.pop(0)
        yield path
        try:
            text = source_text.read(path)
        except (OSError, UnicodeDecodeError):
            continue
        for name in re.findall(r"^\s*(?:from|import)\s+([\w.]+)", text, re.MULTILINE):
            for base in (path.parent, root):
                parts = base.joinpath(*name.strip(".").split("."))
                for found in (parts.with_suffix(".py"), parts / "__init__.py"):
                    if found.is_file() and found.is_relative_to(root) and found not in seen:
                        seen.add(found)
                        line.append(found)


def diff_of(root: Path, edits: Mapping[str, str]) -> str:
    """The edits as one unified diff, as it is shown: without the secrets among its lines."""
    lines: list[str] = []
    for name, text in edits.items():
        old = source_text.lines_of(source_text.read(root / name))
        for line in difflib.unified_diff(old, source_text.lines_of(text), f"a/{name}", f"b/{name}"):
            lines.append(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n")
    return hidden("".join(lines))
