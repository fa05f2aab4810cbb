"""Tell the model where tokens stand."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="restart-position-ids",
    title="Count positions within each document",
    code="""
# padded rows: count what the attention mask shows
position_ids = (attention_mask.cumsum(1) - 1).clamp(min=0)
# packed rows: begin again where another document begins
begins = torch.nn.functional.pad(document_ids[:, 1:] != document_ids[:, :-1], (1, 0), value=True)
place = torch.arange(document_ids.shape[1], device=document_ids.device)
position_ids = place - (begins * place).cummax(1).values
""",
    safety="safe",
    why_safe="Only the position ids that the model gets change.",
    clears=("positions-not-restarted",),
    doc="""\
Gives every token its place in its own document: 0 for the first, one more for each that follows. Padding gets any
number, since nothing attends to it.
""",
)
