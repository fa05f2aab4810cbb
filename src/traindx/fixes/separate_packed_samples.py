"""Let no packed sample see another."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="separate-packed-samples",
    title="Keep packed samples apart",
    code="""
# TRL
args = SFTConfig(packing=True, packing_strategy="bfd", model_init_kwargs={"attn_implementation": "flash_attention_2"})
# by hand: ids of the documents in a row (batch, time) give the mask and the positions
same = document_ids[:, :, None] == document_ids[:, None, :]
causal = torch.ones(same.shape[1:], dtype=torch.bool, device=same.device).tril()
mask = (same & causal)[:, None]                                 # (batch, 1, time, time), True where seen
begins = torch.nn.functional.pad(document_ids[:, 1:] != document_ids[:, :-1], (1, 0), value=True)
place = torch.arange(document_ids.shape[1], device=same.device)
position_ids = place - (begins * place).cummax(1).values        # 0, 1, 2, … in every document
""",
    safety="caution",
    why_safe="A mask of blocks costs memory where the attention cannot use lengths.",
    clears=(
        "documents-not-separated",
        "positions-not-restarted",
    ),
    doc="""\
Attention stays within a sample, and positions begin again with each. With attention kernels that take lengths
(`cu_seq_lens`) nothing but the lengths is needed; elsewhere a mask of blocks does it.
""",
)
