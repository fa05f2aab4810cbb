"""What a known issue is: a fault of library versions that was settled in public, and how it shows in a run."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from traindx.versions import meets, split_requirement

Kind = Literal["fault", "clash", "changed"]
_NUMERIC = re.compile(r">\s*(\d+(?:\.\d+)?)")


@dataclass(frozen=True)
class Signature:
    """What a run must show. `settings`: last part of a setting's name (several by '|') → '>1' or a regular expression
    that its whole value matches; every one must hold. `text`: regular expressions, each found in a line of what the log
    says. `symptoms`: one of them is present. What is empty asks for nothing."""

    settings: Mapping[str, str] = field(default_factory=dict)
    text: tuple[str, ...] = ()
    symptoms: tuple[str, ...] = ()

    def seen(self, config: Mapping[str, Any], said: Sequence[str], present: frozenset[str]) -> bool:
        return (
            all(_set(config, names, wanted) for names, wanted in self.settings.items())
            and all(any(re.search(pattern, line) for line in said) for pattern in self.text)
            and (not self.symptoms or not present.isdisjoint(self.symptoms))
        )


@dataclass(frozen=True)
class Example:
    """A run that shows the issue, in the shape of real ones. The contract suite also takes away one part after the
    other: with the versions `outside`, or without any part of what the signature asks for, the issue must not match."""

    versions: Mapping[str, str]
    outside: Mapping[str, str]
    settings: Mapping[str, Any] = field(default_factory=dict)
    lines: tuple[str, ...] = ()
    symptoms: tuple[str, ...] = ()


@dataclass(frozen=True)
class KnownIssue:
    """`kind`: a 'fault' of these versions, a 'clash' of packages that do not fit together, or something 'changed' so
    that what was written for older versions fails; `traindx doctor` lists the first two. `affects`: every requirement
    must hold, alternatives are written 'a==1 or a==2'. `shows_if` ends the sentence 'shows only if …'. `fixed`: the
    first release without it, where the source names one. `unmistakable`: nothing else says the text of the signature,
    so that it is enough, with a condition, where versions are unknown."""

    id: str
    title: str
    kind: Kind
    affects: tuple[str, ...]
    signature: Signature
    shows_if: str
    happens: str
    do: str
    source: str
    example: Example
    fixed: str = ""
    unmistakable: bool = False

    def packages(self) -> tuple[str, ...]:
        """The packages it speaks of, in the order they are named."""
        return tuple(dict.fromkeys(split_requirement(one)[0] for text in self.affects for one in text.split(" or ")))

    def affected(self, versions: Mapping[str, str]) -> dict[str, str] | None:
        """The versions that lie in the range, by package; None where one lies outside or is not known."""
        found: dict[str, str] = {}
        for text in self.affects:
            for package, wanted in map(split_requirement, text.split(" or ")):
                if package in versions and meets(versions[package], wanted):
                    found[package] = versions[package]
                    break
            else:
                return None
        return found

    def ruled_out(self, versions: Mapping[str, str]) -> bool:
        """Whether a version that is known lies outside the range."""
        for text in self.affects:
            asked = [split_requirement(one) for one in text.split(" or ")]
            known = [meets(versions[package], wanted) for package, wanted in asked if package in versions]
            if known and not any(known):
                return True
        return False


def _set(config: Mapping[str, Any], names: str, wanted: str) -> bool:
    asked = names.split("|")
    for key, value in config.items():
        if re.split(r"[./]", key)[-1].lower().replace("-", "_") in asked and _value_is(value, wanted):
            return True
    return False


def _value_is(value: Any, wanted: str) -> bool:
    least = _NUMERIC.fullmatch(wanted)
    if least is None:
        return value is not None and re.fullmatch(wanted, str(value).strip().lower()) is not None
    try:
        return float(value) > float(least.group(1))
    except (TypeError, ValueError):
        return False
