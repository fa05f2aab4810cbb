"""The page on the format of a recording, made from the schema's own file:

python -m traindx.reporters.recording docs            writes docs/recording.md
python -m traindx.reporters.recording --check docs    exits 1 when it is not up to date
"""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from traindx.reporters import fresh
from traindx.reporters.markdown import row
from traindx.reporters.pages import made_by_us

SOURCE = Path(__file__).parents[1] / "measurements.py"
SECTION = "# --- "  # begins a group of kinds in the schema's file
INTRODUCTION = """# What a recording holds

`traindx run` writes a directory `NAME.traindx` with one file of JSON lines for each rank (schema `{schema}`). Every line
stands for itself, so that a training that is killed loses its last line at most. The field `k` says what a line is:

| k | what it holds |
|---|---|
| `meta` | what was run: command, versions, rank and number of ranks, process and host |
| `rows` | values of series by step, in columns; `names` are given there or in a line `names` before |
| `measured` | one measurement, of one of the kinds below: `of` names the kind, `step` the number of updates before it, `where` a layer, a \
parameter or file:line |
| `config` | settings that were seen: optimiser, learning rate, batch size, shapes |
| `event` | a traceback, a kill, a restart |
| `probe` | what a probe found, with its tables; `fact` lines are what it says of symptoms |
| `cost` | the share of the time that recording took so far |
| `end` | that the process came to its end |

Measurements hold no verdict: [symptoms](symptoms/index.md) judge them when the recording is read, so that a newer traindx gives its newer
judgement of an old recording."""  # noqa: E501


def files() -> dict[str, str]:
    from traindx.measurements import SCHEMA, kinds  # here: every reporter is loaded when the commands are

    introduction = INTRODUCTION.format(schema=SCHEMA)
    return {"recording.md": "\n\n".join([made_by_us(introduction), *_kinds(set(kinds()))]) + "\n"}


def main(arguments: Sequence[str]) -> int:
    return fresh.run(arguments, "traindx.reporters.recording", files, ())


def _kinds(known: set[str]) -> Iterator[str]:
    text = SOURCE.read_text("utf-8")
    lines = text.split("\n")
    headings = {number: line for number, line in enumerate(lines, 1) if line.startswith(SECTION)}
    heading = ""
    for node in ast.parse(text).body:
        if not isinstance(node, ast.ClassDef) or not (node.name in known or _is_record(node)):
            continue
        nearest = headings[max(number for number in headings if number < node.lineno)]
        if nearest != heading:
            heading = nearest
            name = heading.removeprefix(SECTION).rstrip("- ")
            yield f"## {name[0].upper()}{name[1:]}"
        yield _kind(node, lines)


def _is_record(node: ast.ClassDef) -> bool:
    """A part of a kind, written as a list of its fields."""
    return any(isinstance(base, ast.Name) and base.id == "NamedTuple" for base in node.bases)


def _kind(node: ast.ClassDef, lines: list[str]) -> str:
    fields = [
        row(
            f"`{member.target.id}`",
            f"`{ast.unparse(member.annotation).replace(' | ', ' or ')}`",
            _comment(member, lines),
        )
        for member in node.body
        if isinstance(member, ast.AnnAssign) and isinstance(member.target, ast.Name)
    ]
    about = " ".join(inspect.cleandoc(ast.get_docstring(node) or "").split())
    table = ["| field | type | what it is |", "|---|---|---|", *fields]
    return "\n\n".join([f"### {node.name}", about, "\n".join(table)])


def _comment(member: ast.AnnAssign, lines: list[str]) -> str:
    """What stands behind a field, and on lines of comment of its own before it."""
    above: list[str] = []
    place = member.lineno - 2
    while lines[place].strip().startswith("#"):
        above.insert(0, lines[place].strip().removeprefix("#").strip())
        place -= 1
    behind = lines[(member.end_lineno or member.lineno) - 1].partition("  # ")[2].strip()
    return " ".join(filter(None, [*above, behind]))


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
