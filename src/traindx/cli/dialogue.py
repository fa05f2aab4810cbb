"""The interview on a terminal: one question at a time, numbers or words for an answer, and always a way out."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from traindx.errors import TraindxError
from traindx.interview.answers import DONT_KNOW
from traindx.reporters.layout import Ink, hanging, wrap
from traindx.reporters.wording import clean, percent

if TYPE_CHECKING:
    from traindx.interview import Reply, Session
    from traindx.questions.base import Question

HELP = "Enter or d: don't know · ?: what this is for · b: back · s: so far · q: stop here"
SHORT_HELP = "d · ? · b · s · q"
OPENING = (
    "traindx asks a few questions and ranks what may be wrong. Answer with numbers or in words; "
    "nothing is sent anywhere and nothing is changed."
)
ENOUGH = "That is enough to answer."
NOTHING_TO_ASK = "Nothing needs to be asked: what was read settles it."
MAX_WIDTH = 96
SO_FAR = 3
TOO_LITTLE = 0.1  # a leading cause below this is no ranking worth reading out
NUMBERS = re.compile(r"\d+(?:(?:\s*[,;+&]\s*|\s+and\s+|\s*,\s*and\s+|\s+)\d+)*")


class Dialogue:
    """`read` gives a line, or None at the end of input; `write` shows one."""

    def __init__(
        self,
        session: Session,
        read: Callable[[], str | None],
        write: Callable[[str], None],
        *,
        color: bool = False,
        width: int = MAX_WIDTH,
        answered: Callable[[], None] = lambda: None,
    ) -> None:
        self.session = session
        self.read = read
        self.write = write
        self.ink = Ink(color)
        self.width = min(width, MAX_WIDTH)
        self.answered = answered

    def hold(self) -> bool:
        """Ask until no question is left or the user stops; True where the interview came to its own end."""
        self.say(OPENING)
        for note in (*self.session.script.notes, *_read_from(self.session)):
            self.say(note)
        while (question := self.session.question()) is not None:
            self.show(question)
            if not self.answer(question):
                return False
        if not self.session.handed_over():
            self.say(ENOUGH if self.session.answers else NOTHING_TO_ASK)
        return True

    def show(self, question: Question) -> None:
        number = len(self.session.answers) + 1
        self.write("")
        for line in wrap(f"{number}. {question.text}", self.width):
            self.write(self.ink(line, "heading"))
        for place, choice in enumerate(question.choices, 1):
            for line in hanging(f"   {place:>2}  ", [choice.text], 7, self.width):
                self.write(line)
        for line in wrap(f"({_how(question)} · {HELP if number == 1 else SHORT_HELP})", self.width - 3):
            self.write(self.ink(f"   {line}", "dim"))

    def answer(self, question: Question) -> bool:
        """Take lines until one answers the question (or withdraws the one before); False to stop."""
        while True:
            line = self.read()
            if line is None:
                return False
            text = line.strip()
            word = text.lower()
            if word in ("q", "quit", "exit", "stop"):
                return False
            if word == "?":
                self.say(question.why)
            elif word in ("h", "help"):
                self.say(f"{_how(question)} · {HELP}")
            elif word in ("s", "so far"):
                self.so_far()
            elif word in ("b", "back") and not self.session.answers:
                self.say("this is the first question.")
            elif word in ("b", "back"):
                self.session.back()
                self.answered()
                return True
            elif self.take(question, text):
                self.answered()
                return True

    def take(self, question: Question, text: str) -> bool:
        """The line as an answer, or as something people say instead of one."""
        given: object = text
        if text.lower() in DONT_KNOW:
            given = None
        elif question.kind == "many" and NUMBERS.fullmatch(text.rstrip(" .")):
            given = re.findall(r"\d+", text)
        elif question.kind == "many" and text:
            given = [part.strip() for part in re.split(r"[,;]", text) if part.strip()]
        try:
            self.session.answer(question.id, given)
        except TraindxError:
            reply = self.session.says(text)
            if reply is None:
                self.say(f"{_short(text)} was not understood. Type {_how(question)}; d if you do not know.")
            else:
                self.reply(reply)
                self.say(_again(question, reply))
            return False
        return True

    def reply(self, reply: Reply) -> None:
        for line in reply_lines(reply, self.width):
            self.write(line)

    def so_far(self) -> None:
        shown = [h for h in self.session.diagnosis().hypotheses if h.cause != "other"][:SO_FAR]
        if not shown or shown[0].confidence < TOO_LITTLE:
            self.say("so far: nothing stands out.")
            return
        self.say("so far: " + ", ".join(f"{h.cause} {percent(h.confidence)}" for h in shown))

    def say(self, text: str) -> None:
        for line in wrap(clean(text), self.width - 3):
            self.write(f"   {line}")


def _how(question: Question) -> str:
    if question.kind == "many":
        return "numbers such as 1 3, 0: none of these"
    return "a number of the list" if question.kind == "one" else "a number such as 1e-3"


def _short(text: str) -> str:
    return f"“{text if len(text) <= 40 else text[:39] + '…'}”"


def _again(question: Question, reply: Reply) -> str:
    """Back to the question after something else was said."""
    if reply.kind == "symptoms":
        return "Add numbers of the list, or press Enter to go on." if question.id == "symptoms" else question.text
    before = "If something is wrong with learning too" if reply.kind == "hand-over" else "Let us find out"
    return f"{before}: {question.text[0].lower()}{question.text[1:]}"


def reply_lines(reply: Reply, width: int) -> list[str]:
    """A recognised sentence: what was recognised, what to know about it, and the command that tells in half a
    minute."""
    lines = [f"   {line}" for line in wrap(reply.title, width - 3)]
    for stated in reply.lines:
        lines += [f"     {line}" for line in wrap(stated, width - 5)]
    if reply.command:
        lines.append(f"     try: {reply.command}")
    return lines


def _read_from(session: Session) -> list[str]:
    """What was read instead of asked."""
    script = session.script
    stated = [f"{name} = {value}" for name, value in script.settings.items()]
    found = [clean(o.evidence) for o in script.observations if o.state == "present"]
    lines = [f"read from {clean(script.name)}: {', '.join(stated)}."] if stated else []
    return lines + [f"in {line}" if not line.startswith("in ") else line for line in found]
