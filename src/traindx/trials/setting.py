"""What a trial changes, written as on the command line: `lr=1e-4`, `lr=x0.1`, `clip=1.0`, `zero_grad`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from traindx.errors import TraindxError

TREATMENTS = Path(__file__).parent / "treatments"
EDITS = Path(__file__).parent / "edits"
_FORM = re.compile(r"([a-z][a-z_]*)(?:=(.+))?")
SEPARATOR = "+"  # between settings that are one change together


@dataclass(frozen=True, slots=True)
class Setting:
    """One thing to change; the value 'x0.1' means that many times what the script has."""

    name: str
    value: str = "on"

    def __str__(self) -> str:
        return self.name if self.value == "on" else f"{self.name}={self.value}"

    def number(self, current: float) -> float:
        """The value as a number, given what the script has."""
        return current * float(self.value[1:]) if self.value.startswith("x") else float(self.value)

    def number_or(self, usual: float) -> float:
        """The value as a number, or what is usual where it was only switched on."""
        return usual if self.value == "on" else self.number(usual)

    @property
    def scales(self) -> bool:
        return self.value.startswith("x")


def known() -> dict[str, str]:
    """Every setting there is and the first line of its treatment or edit, which says what it does; read without
    importing any."""
    found: dict[str, str] = {}
    for path in sorted([*EDITS.glob("[a-z]*.py"), *TREATMENTS.glob("[a-z]*.py")], key=lambda path: path.stem):
        with path.open(encoding="utf-8") as file:
            found[path.stem] = file.readline().strip().strip('"')
    return found


def at_run_time(settings: Iterable[Setting]) -> bool:
    """Whether all of these can be changed inside the training; some can only be written into the script."""
    return all((TREATMENTS / f"{setting.name}.py").exists() for setting in settings)


def parse(text: str) -> Setting:
    """A setting as somebody wrote it, refused where no treatment has its name."""
    form = _FORM.fullmatch(text.strip())
    if form is None or form.group(1) not in known():
        raise TraindxError(f"{text!r} is nothing a trial can set.", f"It can set: {', '.join(known())}.")
    return Setting(form.group(1), form.group(2) or "on")


def parse_all(texts: Iterable[str]) -> tuple[Setting, ...]:
    """In their order, but another optimiser first: it brings its rate along, which `lr` then sets."""
    return tuple(sorted((parse(text) for text in texts), key=lambda setting: setting.name != "optimizer"))


def combined(text: str) -> tuple[Setting, ...]:
    """Several settings of one change: 'init=default+lr=x0.1'."""
    return parse_all(text.split(SEPARATOR))
