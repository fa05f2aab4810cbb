"""What a fix is: the change itself, ready to paste, how safe it is and what it costs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from traindx.diagnosis import FixProposal, Safety

Judged = Literal["error", "recall", "speed", "symptom"]


@dataclass(frozen=True)
class Fix:
    """`code` is Python (or a shell line) in which `{lr}`-like fields are filled with the run's own numbers, or with
    `defaults` where the run does not tell. `clears` are the symptoms that must be gone afterwards: a trial checks them.
    `why_safe` gives the reason for the safety: 'safe' changes nothing that already works, 'caution' may slow or weaken
    the training, 'disruptive' changes the model or needs a new run from the start. `tries` are the changes a trial makes to see
    whether it helps, as `traindx trial --set` takes them, one trial each ('a+b' changes both); a fix without any is made by hand.
    `judged_by`: 'error', or 'recall' of all classes alike, or 'speed', or 'symptom' where an honest run has the higher error."""

    id: str
    title: str
    code: str
    safety: Safety
    why_safe: str
    clears: tuple[str, ...]
    doc: str
    defaults: Mapping[str, str] = field(default_factory=dict)
    tries: tuple[str, ...] = ()
    judged_by: Judged = "error"

    def proposal(self, facts: Mapping[str, str]) -> FixProposal:
        code = self.code
        for name, default in self.defaults.items():
            code = code.replace("{" + name + "}", facts.get(name, default))
        return FixProposal(self.id, self.title, code.strip("\n"), self.safety)
