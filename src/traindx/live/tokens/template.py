"""Where prompts end and answers begin: by the tokenizer's own chat template, or by the markers of formats that people
write by hand."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, NamedTuple

ASK, ANSWER, AGAIN, LAST = "QUESTIONONE", "ANSWERONE", "QUESTIONTWO", "ANSWERTWO"  # contents that no template has
_BEGINS = r"(?:^|[\n>\]]|[.?!;][ \t]?)\s*"  # of a line, behind a special token, or behind the sentence before
_BEFORE = " \t\n>].?!;"  # what that may take in, and is no part of a marker
# What stands before answers in formats that are written by hand, with what stands before the next question.
FORMATS = (
    (re.compile(r"<\|im_start\|>\s*assistant\s*"), re.compile(r"<\|im_start\|>\s*(?:user|system)|<\|im_end\|>")),
    (
        re.compile(r"<\|start_header_id\|>\s*assistant\s*<\|end_header_id\|>\s*"),
        re.compile(r"<\|start_header_id\|>\s*(?:user|system)|<\|eot_id\|>"),
    ),
    (re.compile(r"<start_of_turn>\s*model\s*"), re.compile(r"<start_of_turn>\s*user|<end_of_turn>")),
    (re.compile(r"<\|assistant\|>\s*"), re.compile(r"<\|user\|>|<\|system\|>|<\|end\|>")),
    (re.compile(r"\[/INST\]\s*"), re.compile(r"\[INST\]|</s>")),
    (
        re.compile(r"#{2,3}\s*(?:Response|Assistant|Answer|Output|Completion|Solution|Summary|SQL)\s*:?[ \t]*\n?"),
        re.compile(r"#{2,3}\s*(?:Instruction|Input|User|Human|Question|System)\b"),
    ),
    (
        re.compile(r"(?<![A-Za-z])(?:ASSISTANT|Assistant|Bot|AI|GPT)\s*:[ \t]*"),
        re.compile(r"(?<![A-Za-z])(?:USER|User|HUMAN|Human|System|SYSTEM)\s*:"),
    ),
    (
        re.compile(
            rf"{_BEGINS}(?:Answer|Response|Output|Completion|Summary|Translation|Sentiment|Label|Solution|A)"
            r"\s*:[ \t]*"
        ),
        re.compile(
            rf"{_BEGINS}(?:Question|Instruction|Prompt|Input|Context|Text|Article|Review|Problem|Q)(?: and \w+)?\s*:"
        ),
    ),
)  # fmt: skip
CONTROL = re.compile(r"<\|[A-Za-z_]{2,24}\|>|<(?:start|end)_of_turn>")


class Template(NamedTuple):
    """What a chat template writes around a question, its answer and the next question."""

    head: str  # before the first question
    opening: str  # between a question and its answer
    turn: str  # between an answer and the next question
    tail: str  # behind the last answer
    generation: str  # behind a question with add_generation_prompt


@dataclass(frozen=True, slots=True)
class Found:
    """The answers of a text, as stretches of its characters, and the marker before them."""

    spans: tuple[tuple[int, int], ...]
    marker: str
    own: bool  # of the tokenizer's template
    asked: tuple[int, ...] = ()  # where questions begin, in a format that is written by hand


def template_of(tokenizer: Any) -> Template | None:
    """The template of a tokenizer, as it writes a conversation of two turns; None where it refuses one."""
    question, answer = {"role": "user", "content": ASK}, {"role": "assistant", "content": ANSWER}
    again, last = {"role": "user", "content": AGAIN}, {"role": "assistant", "content": LAST}
    text = str(tokenizer.apply_chat_template([question, answer, again, last], tokenize=False))
    parts = re.split("|".join((ASK, ANSWER, AGAIN, LAST)), text)
    if len(parts) != 5:
        return None
    asked = str(tokenizer.apply_chat_template([question], tokenize=False, add_generation_prompt=True))
    head, opening, turn, _, tail = parts
    return Template(head, opening, turn, tail, asked.partition(ASK)[2])


def answers_in(text: str, template: Template | None) -> Found | None:
    """Where the answers of a sample are; None where nothing tells."""
    if template is not None and template.opening.strip():
        opening = re.compile(_loosely(template.opening) + r"\s?")
        closing = re.compile(_loosely(template.turn.strip() or template.tail.strip() or "\0"))
        spans = _spans(text, opening, closing)
        if spans:
            return Found(spans, template.opening.strip(), True)
    for opening, closing in FORMATS:
        asked = closing.search(text)
        spans = _spans(text, opening, closing)
        # the marker of an answer alone may be a word of a text; with that of a question before it, it is a format
        if spans and asked is not None and (asked.start() < spans[0][0] or "|" in opening.pattern[:8]):
            marker = opening.search(text)
            begins = tuple(match.end() - len(match.group().lstrip(_BEFORE)) for match in closing.finditer(text))
            return Found(spans, marker.group().lstrip(_BEFORE).strip() if marker is not None else "", False, begins)
    return None


def _loosely(written: str) -> str:
    """A pattern for what a template writes, whatever white space stands between its words and markers: whoever writes
    the same format by hand puts a line break more or less."""
    return r"\s*".join(re.escape(part) for part in re.split(r"\s+|(?<=>)(?=<)", written.strip()))


def _spans(text: str, opening: re.Pattern[str], closing: re.Pattern[str]) -> tuple[tuple[int, int], ...]:
    spans: list[tuple[int, int]] = []
    for match in opening.finditer(text):
        if spans and match.start() < spans[-1][1]:
            continue
        behind = closing.search(text, match.end())
        spans.append((match.end(), behind.start() if behind is not None else len(text)))
    return tuple(spans)
