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
# lines that ask for nothing: headings, blank lines, fences and the names of models and tools
NO_ITEMS = {
    "T": (
        "1, 4-7, 9-11, 23-25, 27-28, 34-35, 39-40, 45-46, 50-52, 60, 65, 81, 88, 100-102, 113, 120, 127, "
        "132-134, 141, 145-148, 156-159, 165"
    ),
    "D": (
        "1, 3-6, 10-13, 16-18, 21-23, 26-28, 31-34, 36, 41-45, 54-56, 63, 72, 76, 83-84, 91, 108, 113-114, "
        "121, 126-127, 129-131, 139-140, 156, 169, 174-175, 205, 210-212, 221-223, 231-233, 239, 243, 248, "
        "253, 256, 259-264, 271-273, 279, 285, 291-293, 299-301"
    ),
    "S": (
        "1-2, 4-7, 9-11, 34-38, 51, 56, 61, 66-70, 84-86, 92, 123, 127, 150, 161, 165, 169, 175, 181, 186, "
        "191, 205, 214, 242, 247, 254, 265-267, 286-288, 307, 316, 320, 324, 329, 334, 338, 359-361, 368, "
        "380, 387, 392, 397, 401, 405, 409, 421, 431, 445, 453-455, 461, 467, 471, 477, 481, 493, 506, 512, "
        "523, 529, 533, 537, 545-547, 570, 588, 608-612, 661, 677, 702, 728, 734, 740, 788, 801-805, 809, "
        "814, 819, 824-826, 832, 845-851, 859, 865, 871, 883, 885, 902-905"
    ),
}
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
        return spans_of(self.lines)


def spans_of(lines: str) -> list[tuple[int, int]]:
    """'3, 8-9' as first and last line of each part."""
    parts = [part.strip().split("-") for part in lines.split(",")]
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
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        raise SystemExit(__doc__)
    Path(sys.argv[1]).write_text(page(), encoding="utf-8")
