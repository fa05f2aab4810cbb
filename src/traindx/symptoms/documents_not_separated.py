"""documents-not-separated: instructions that are packed into one row see each other."""

from __future__ import annotations

from traindx.diagnosis import Observation
from traindx.measurements import Measured, PackedRows
from traindx.symptoms.base import Case, Symptom, percent
from traindx.symptoms.observed import from_measurements, seen
from traindx.thresholds import Threshold

ID = "documents-not-separated"
PACKED = Threshold(0.5, "of the rows hold several documents", "a packed data set packs nearly all rows")
INSTRUCTIONS = Threshold(0.5, "of the packed rows hold prompts and answers", "running text is packed so on purpose")
ROWS = Threshold(4, "rows", "fewer may hold an end token inside by chance")
CHANGE = Threshold(
    1e-3,
    "of the largest output: the change by a token of another document",
    "single precision rounds at 1e-7 and half precision at 1e-3 of a number; the noise of equal calls is compared, too",
)
NOISE = Threshold(10, "times the difference of two equal calls", "rounding differs by less between equal calls")
SEEN, NOTHING_GIVEN = 1.0, 0.75  # clarity: tried on the model, and concluded from what it is given


def judge(measured: Measured) -> Observation | None:
    for rows in reversed(measured.latest(PackedRows)):
        found = _judge(rows)
        if found is not None:
            return found
    return None


def _judge(rows: PackedRows) -> Observation | None:
    if not ROWS.reached(rows.samples) or not PACKED.reached(rows.packed / rows.samples):
        return None
    each = f"{rows.documents / rows.packed:.0f} documents in a row"
    if rows.change is not None:
        seen_across = CHANGE.reached(rows.change) and NOISE.reached(rows.change / max(rows.noise or 0.0, 1e-12))
        if not seen_across:
            return seen(
                ID, False, f"The {each} do not see each other: a token of one changes no output of the next.", at=rows
            )
        if not INSTRUCTIONS.reached(rows.instructions / rows.packed):
            return None
        text = (
            f"{percent(rows.packed / rows.samples)} of the rows hold several samples ({each}), and a token of one "
            f"changes the outputs of the next by {percent(rows.change)} of the largest."
        )
        return seen(ID, True, text, at=rows, clarity=SEEN)
    if rows.restarted or rows.separated:
        return seen(ID, False, f"The {each} are told apart by position ids, lengths or a mask.", at=rows)
    if not INSTRUCTIONS.reached(rows.instructions / rows.packed):
        return None
    text = (
        f"{percent(rows.packed / rows.samples)} of the rows hold several samples ({each}), and neither position ids "
        "nor a mask nor lengths tell them apart."
    )
    return seen(ID, True, text, at=rows, clarity=NOTHING_GIVEN)


def packed_rows(
    instructions: int = 16, *, restarted: int = 0, separated: int = 0, given: int = 0, broken: int = 0,
    packed: int = 16, change: float | None = None,
) -> PackedRows:  # fmt: skip
    return PackedRows(
        samples=16, packed=packed, documents=packed * 4, instructions=instructions, restarted=restarted,
        separated=separated, positions_given=given, positions_broken=broken, change=change,
        noise=None if change is None else 1e-7, where="train.py:30",
    )  # fmt: skip


SYMPTOM = Symptom(
    id=ID,
    title="packed samples see each other",
    severity="problem",
    family=ID,
    background=0.002,
    needs=("loss function", "targets", "input tokens", "tokenizer"),
    doc="""
## What is observed
Rows hold several prompts with their answers, one after the other, and attention runs across them.

## How it is measured
A recording finds end- or begin-of-sequence tokens inside of rows without padding; the turns of a conversation are not
counted. It calls the model once more on one row with another token in the first document, without gradients and with
everything put back: outputs of later documents may not change. Where that cannot be tried, it looks whether position
ids begin again, or a mask of pairs or lengths are given. Only rows of instructions are judged.

## Healthy range
No output depends on another sample. Running text that is packed with end tokens between documents is trained across
them on purpose.

## What it usually means
Samples were concatenated to fill rows, and the attention sees all of them.
""",
    detect=from_measurements(ID, judge),
    cases=(
        Case("nothing tells them apart", "present", measured=(packed_rows(),)),
        Case("tried on the model", "present", measured=(packed_rows(change=0.2),)),
        Case("position ids begin again", "absent", measured=(packed_rows(restarted=16, given=16),)),
        Case("a mask of pairs", "absent", measured=(packed_rows(separated=16),)),
        Case("a model that separates them itself", "absent", measured=(packed_rows(change=0.0),)),
        Case("running text", "unknown", measured=(packed_rows(0),)),
        Case("running text, tried", "unknown", measured=(packed_rows(0, change=0.3),)),
        Case("one row of many", "unknown", measured=(packed_rows(1, packed=1),)),
        Case("a log alone", "unknown"),
    ),
)
