"""What the documents ask for, item by item: where it is, and the command that shows it. Writes docs/seeds.md.

python benchmarks/seeds/items.py docs/seeds.md"""

from __future__ import annotations

import re
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path

ITEMS = Path(__file__).parent / "items.psv"
DOCUMENTS = {"T": ("train-debug", 165), "D": ("training-diagnostician", 307), "S": ("training-diagnostics", 905)}
_BETWEEN = re.compile(r"(?<!\\)\|")  # a pipe that no backslash precedes


@dataclass(frozen=True)
class Item:
    """`lines` are those of the document; `says` are parts of what the command prints."""

    document: str
    lines: str
    asks: str
    where: str
    command: str
    says: tuple[str, ...]

    @property
    def words(self) -> list[str]:
        """The arguments of the command, without the program."""
        return shlex.split(self.command)[1:]

    @property
    def spans(self) -> list[tuple[int, int]]:
        """First and last line of each part."""
        parts = [part.strip().split("-") for part in self.lines.split(",")]
        return [(int(part[0]), int(part[-1])) for part in parts]


def items() -> list[Item]:
    found = []
    for line in ITEMS.read_text("utf-8").splitlines():
        if line and not line.startswith("#"):
            cells = [cell.strip().replace("\\|", "|") for cell in _BETWEEN.split(line)]
            document, lines, asks, where, command, says = cells
            found.append(Item(document, lines, asks, where, command, tuple(s.strip() for s in says.split("&&"))))
    return found


HEAD = """\
# The documents it grew from

Three descriptions of how to debug a training were what this project began with: a workflow (`train-debug`), a
diagnostician that holds the line (`training-diagnostician`) and a catalogue of pathologies (`training-diagnostics`).
Each item below stands with its lines in its document, where it is in traindx, and a command that shows it. A test runs
every command on the files of `benchmarks/seeds/scenarios.py` and looks for the words of the last column. Where traindx
does something else on purpose, [the folklore page](folklore.md) says what was measured.

```sh
python benchmarks/seeds/scenarios.py FOLDER     # the logs and scripts that the commands are about
python benchmarks/seeds/items.py docs/seeds.md  # this page
```
"""


def page() -> str:
    parts = [HEAD]
    for document, (name, _) in DOCUMENTS.items():
        rows = [one for one in items() if one.document == document]
        parts.append(
            f"## {name}: {len(rows)} items\n\n| lines | asks for | where | command | says |\n|---|---|---|---|---|"
        )
        parts[-1] += "".join(
            f"\n| {one.lines} | {one.asks} | {_where(one.where)} | {_code(one.command)} | "
            f"{' · '.join(map(_code, one.says))} |"
            for one in rows
        )
        parts[-1] += "\n"
    return "\n".join(parts)


def _where(text: str) -> str:
    return " ".join(f"`{word}`" if word.endswith((".py", ".md")) else word for word in text.split())


def _code(text: str) -> str:
    inside = text.replace("|", "\\|")
    return f"`{inside}`"


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(page(), encoding="utf-8")
