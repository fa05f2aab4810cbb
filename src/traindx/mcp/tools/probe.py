"""`probe`: run the user's script up to its first update and measure the model it trains."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from mcp.server.mcpserver import Context
from mcp_types import CallToolResult
from pydantic import Field
from typing_extensions import TypedDict

from traindx.diagnosis import Diagnosis
from traindx.mcp.answers import RunAnswer, answer, sentence, short
from traindx.mcp.base import Function, Tool
from traindx.mcp.children import result_of
from traindx.mcp.session_state import SessionState
from traindx.measurements import TokenSample, TokenSamples
from traindx.reporters.batches.excerpt import held
from traindx.reporters.wording import clean
from traindx.token_samples import CLASSES, stretches

MOST_SAMPLES, MOST_STRETCHES, MOST_TEXT = 2, 40, 400  # of a batch, of a sample, characters of a stretch

Kind = Literal["probe", "batch", "activations", "curvature", "gradients", "lr-range", "sanity", "speed"]


class ReadingAnswer(TypedDict):
    """What one probe found; `found` are the problems, `unknown` what it could not measure."""

    probe: str
    summary: str
    found: list[str]
    unknown: list[str]


class StretchAnswer(TypedDict):
    """Tokens in a row that the loss treats alike; without text where it was kept out."""

    tokens: int
    kind: str
    counted: bool
    text: str


class SampleAnswer(TypedDict):
    """One sample of a language model's batch, as its loss sees it."""

    holds: str
    evaluation: bool
    stretches: list[StretchAnswer]


class ProbeAnswer(TypedDict):
    """What was measured and what that means; `samples` only of the kind `batch`."""

    readings: list[ReadingAnswer]
    samples: list[SampleAnswer]
    diagnosis: RunAnswer


def make(state: SessionState) -> Function:
    async def probe(
        context: Context,
        path: Annotated[
            str, Field(description="The training script (PyTorch). It is RUN, up to the updates asked for.")
        ],
        arguments: Annotated[list[str] | None, Field(description="Arguments of the script.")] = None,
        kind: Annotated[Kind, Field(description="One probe, or `probe` for all of them.")] = "sanity",
        at_step: Annotated[int, Field(ge=0, description="Let it train so many updates first.")] = 0,
        seconds: Annotated[float, Field(gt=0, le=3600, description="Stop it after so long.")] = 300,
    ) -> Annotated[CallToolResult, ProbeAnswer]:
        """Measure what a training script trains: can the model learn one batch, do gradients reach everything, is the
        learning rate in range, where is the time spent; `batch` shows which tokens the loss of a language model counts,
        before it is trained. RUNS THE SCRIPT in the allowed directory until it has been
        measured, then stops it; model and optimiser are put back as they were."""
        script = state.roots.path(path)
        asked = ["probe", kind] if kind == "batch" else [kind, "--at-step", str(at_step)]
        command = ["--json", "{json}", str(script), *(arguments or [])]
        result = await result_of([*asked, *command], state.roots.home_of(script), seconds, context)
        if kind == "batch":
            result = {"readings": [], "diagnosis": result}
        result["diagnosis"]["run"]["source"] = path  # as the agent named it
        page = Diagnosis.from_json(result["diagnosis"])
        readings = [_reading(reading) for reading in result["readings"]]
        lines = [f"{reading['probe']}: {reading['summary']}" for reading in readings]
        samples = [_sample(batch, one) for batch in page.batches for one in batch.samples[:MOST_SAMPLES]]
        lines += [f"{'evaluated' if one['evaluation'] else 'trained on'}: {one['holds']}" for one in samples]
        whole = ProbeAnswer(readings=readings, samples=samples, diagnosis=short(page))
        return answer(whole, [*lines, sentence(page)])

    return probe


def _reading(reading: dict[str, Any]) -> ReadingAnswer:
    return ReadingAnswer(
        probe=reading["probe"], summary=reading["summary"], unknown=reading["unknown"],
        found=[f"{fact['id']}: {fact['evidence']}" for fact in reading["facts"] if fact["present"]],
    )  # fmt: skip


def _sample(batch: TokenSamples, sample: TokenSample) -> SampleAnswer:
    written = [clean(piece) for piece in sample.pieces]
    found = [
        StretchAnswer(
            tokens=one.end - one.start, kind=CLASSES[one.letter], counted=one.counted,
            text="".join(written[one.start : one.end])[:MOST_TEXT],
        )
        for one in stretches(sample)
    ]  # fmt: skip
    return SampleAnswer(holds=held(sample), evaluation=batch.evaluation, stretches=found[:MOST_STRETCHES])


TOOL = Tool("probe", "Measure the model of a script", make, runs_code=True)
