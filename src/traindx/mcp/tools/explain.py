"""`explain`: the page of a symptom, a cause or a fix."""

from __future__ import annotations

from typing import Annotated

from mcp_types import CallToolResult
from pydantic import Field
from typing_extensions import TypedDict

from traindx.errors import TraindxError
from traindx.mcp.answers import answer
from traindx.mcp.base import Function, Tool
from traindx.mcp.session_state import SessionState
from traindx.reporters.catalogue import pages_about, suggestion, titles


class ExplainAnswer(TypedDict):
    """`markdown` is the whole page; some ids name a symptom and a cause, and then it holds both."""

    id: str
    markdown: str


def make(state: SessionState) -> Function:
    def explain(
        id: Annotated[str, Field(description="An id such as lr-too-high, or words such as: need more epochs.")],
    ) -> Annotated[CallToolResult, ExplainAnswer]:
        """Explain a symptom, cause or fix by its id: what one sees, why it happens, how to tell it from its
        look-alikes, how to fix it and what not to do. Also answers what people say about a training ("need more
        epochs")."""
        pages = pages_about(id)
        if not pages:
            raise TraindxError(f"There is no symptom, cause or fix called {id!r}.", suggestion(id, titles()))
        text = "\n\n---\n\n".join(pages)
        return answer(ExplainAnswer(id=id, markdown=text), [text])

    return explain


TOOL = Tool("explain", "Explain a symptom, cause or fix", make)
