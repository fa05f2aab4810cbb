"""What a question is. One module a question; a module that defines QUESTION is registered by being there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from traindx.engine.ways import ANSWERED

Kind = Literal["one", "many", "number"]
Value = str | float | tuple[str, ...] | None  # a choice, a number, the choices ticked; None: don't know

UNTICKED = 0.4  # clarity of a shape that was offered and not ticked: people tick what troubles them most
UNSEEN = 0.65  # and of a mistake somebody looked for and did not see: nine in ten would have


@dataclass(frozen=True)
class Choice:
    """One answer. `present` and `absent` are symptom ids; `leans` are log odds for (or against) causes; `settings` go
    where a config file's would; `usual` is how often the answer is given by people whose trouble lies elsewhere.
    `hand_over` names an entry of misdiagnoses.HAND_OVERS: the problem is none of learning. An unticked choice rules its
    symptoms out, unless `overlooked`: most people could not know. `alone` are log odds besides where nothing else was
    ticked; an `unmissable` choice is ruled out even by a sentence that does not name it."""

    id: str
    text: str
    present: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    leans: Mapping[str, float] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    usual: float = 0.2
    clarity: float = ANSWERED
    hand_over: str = ""
    cues: tuple[str, ...] = ()  # regular expressions that recognise the choice in free text
    overlooked: bool = False
    alone: Mapping[str, float] = field(default_factory=dict)
    unmissable: bool = False


@dataclass(frozen=True)
class Question:
    """`why` answers '?': what the question is for. `seconds` is how long people take to answer; from a minute on it
    wants an experiment, and many will not have made it. `setting` is what it asks for where that stands in config files
    too; a 'number' goes there, and `samples` are its typical values with how usual they are. A question whose `setting`
    is known, or whose symptoms all are, is not asked; nor is one `about` symptoms that are all ruled out."""

    id: str
    text: str
    why: str
    kind: Kind
    choices: tuple[Choice, ...] = ()
    seconds: float = 10.0
    setting: str = ""
    samples: Mapping[float, float] = field(default_factory=dict)
    about: tuple[str, ...] = ()

    @property
    def symptoms(self) -> frozenset[str]:
        return frozenset(i for choice in self.choices for i in (*choice.present, *choice.absent))

    def choice(self, identifier: str) -> Choice | None:
        return next((choice for choice in self.choices if choice.id == identifier), None)

    def to_json(self) -> dict[str, Any]:
        return {
            "id": self.id, "text": self.text, "why": self.why, "kind": self.kind,
            "choices": [{"id": choice.id, "text": choice.text} for choice in self.choices],
        }  # fmt: skip
