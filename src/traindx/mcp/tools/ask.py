"""`ask`: the interview, one call a question."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, cast

from mcp_types import CallToolResult
from pydantic import Field
from typing_extensions import TypedDict

from traindx.errors import TraindxError
from traindx.interview import Reply, Session, read_script, start
from traindx.mcp.answers import RunAnswer, answer, sentence, short
from traindx.mcp.base import Function, Tool
from traindx.mcp.roots import Roots
from traindx.mcp.session_state import SessionState
from traindx.questions.base import Question

LARGEST = 4 << 20  # bytes of a script that is read


class ChoiceAnswer(TypedDict):
    """One answer to choose; give its `id`."""

    id: str
    text: str


class QuestionAnswer(TypedDict):
    """What to put to the user. `kind`: one choice, several choices, or a number; `why` is for when they ask."""

    id: str
    text: str
    why: str
    kind: str
    choices: list[ChoiceAnswer]


class ReplyAnswer(TypedDict):
    """What to tell the user about what they said."""

    kind: str
    title: str
    lines: list[str]
    command: str


class AskAnswer(TypedDict):
    """`question` is null when no further one would change the answer; `diagnosis` is what follows so far."""

    session: str
    question: QuestionAnswer | None
    replies: list[ReplyAnswer]
    answered: int
    diagnosis: RunAnswer


def make(state: SessionState) -> Function:
    def ask(
        session: Annotated[str | None, Field(description="`session` of the answer before; none to begin.")] = None,
        answers: Annotated[
            dict[str, Any] | None,
            Field(description="Question id → the chosen id, a list of ids, a number, or null for: don't know."),
        ] = None,
        id: Annotated[str | None, Field(description="For a single answer: the question's id, with `value`.")] = None,
        value: Annotated[Any, Field(description="The answer to the question `id`; null for: don't know.")] = None,
        says: Annotated[str | None, Field(description="What the user says in their own words.")] = None,
        path: Annotated[
            str | None, Field(description="A log or run directory, if there is one; only to begin.")
        ] = None,
        script: Annotated[
            str | None, Field(description="The training script, read and not run; only to begin.")
        ] = None,
    ) -> Annotated[CallToolResult, AskAnswer]:
        """Interview the user about a failing training: begin with what there is (a run, a script, a sentence, or
        nothing), put `question` to the user, call again with `session` and `answers` until `question` is null. Each
        question is the one that settles most; answers and runs are weighed together in `diagnosis`. Tell the user what
        `replies` say. Reads only."""
        if session is None:
            held = start(_run(state.roots, path), None if script is None else _script(state.roots, script))
            token = state.interviews.put(held)
        else:
            if path is not None or script is not None:
                raise TraindxError("`path` and `script` belong to the first call.", "Begin again without `session`.")
            token, held = session, cast("Session", state.interviews.get(session))
        replies = [reply] if says and (reply := held.says(says)) is not None else []
        for name, reported in {**(answers or {}), **({id: value} if id is not None else {})}.items():
            held.answer(name, reported)
        question, page = held.question(), held.diagnosis()
        structure = AskAnswer(
            session=token, question=None if question is None else _question(question), answered=len(held.answers),
            replies=[_reply(reply) for reply in replies], diagnosis=short(page),
        )  # fmt: skip
        return answer(structure, [*_said(replies), *_asked(question, token), sentence(page)])

    return ask


def _run(roots: Roots, path: str | None) -> Any:
    if path is None:
        return None
    from traindx.opening import read

    runs = read(roots.path(path), allowed=roots.holds)
    if len(runs) > 1:
        names = ", ".join(roots.shown(run.source) for run in runs[:3])
        raise TraindxError(f"{path} holds {len(runs)} runs ({names} …).", "An interview is about one: name it.")
    runs[0].source = roots.shown(runs[0].source)
    return runs[0]


def _script(roots: Roots, path: str) -> Any:
    place: Path = roots.path(path)
    if not place.is_file() or place.stat().st_size > LARGEST:
        raise TraindxError(f"{path} is no script.", "Give the file that trains.")
    return read_script(place.read_text("utf-8", errors="replace"), path)


def _question(question: Question) -> QuestionAnswer:
    return QuestionAnswer(
        id=question.id, text=question.text, why=question.why, kind=question.kind,
        choices=[ChoiceAnswer(id=choice.id, text=choice.text) for choice in question.choices],
    )  # fmt: skip


def _reply(reply: Reply) -> ReplyAnswer:
    return ReplyAnswer(kind=reply.kind, title=reply.title, lines=list(reply.lines), command=reply.command)


def _said(replies: Sequence[Reply]) -> list[str]:
    return [line for reply in replies for line in (reply.title, *reply.lines, reply.command)]


def _asked(question: Question | None, token: str) -> list[str]:
    if question is None:
        return ["That is enough to answer."]
    choices = "; ".join(f"{choice.id}: {choice.text}" for choice in question.choices)
    return [
        f"Ask ({question.id}, {question.kind}): {question.text} {choices}".rstrip(),
        f"Then call again with session {token}.",
    ]


TOOL = Tool("ask", "Interview about a failing training", make)
