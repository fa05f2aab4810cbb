"""What a text log states besides numbers and events: the versions it ran with, and every kind of complaint once."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from traindx.readers.text.lines import read_prefix
from traindx.versions import stated_in

_MAX_LINE = 1000  # characters; versions and complaints are short
_MAX_COMPLAINTS = 200
_MAX_TEXT = 300  # characters kept of one, as of an event
_COMPLAINT = re.compile(
    r"error|warn|cannot|can't|could not|unexpected|undefined|not (?:yet )?(?:supported|available|compatible)|no longer|"
    r"no module|has no attribute|removed|recommended|failed",
    re.IGNORECASE,
)


@dataclass(slots=True)
class Statements:
    """Collected line by line; a package that the log gives two versions of has none that is known."""

    complaints: list[str] = field(default_factory=list)
    _versions: dict[str, str | None] = field(default_factory=dict)

    def take(self, line: str) -> None:
        if len(line) > _MAX_LINE:
            return
        if len(self.complaints) < _MAX_COMPLAINTS and _COMPLAINT.search(line):
            self.complaints.append(line.strip()[:_MAX_TEXT])
        for package, version in stated_in(line[read_prefix(line).end :]).items():
            same = self._versions.setdefault(package, version) == version
            self._versions[package] = version if same else None

    @property
    def versions(self) -> dict[str, str]:
        return {package: version for package, version in self._versions.items() if version is not None}
