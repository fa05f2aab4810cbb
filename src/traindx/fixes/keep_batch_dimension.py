"""Samples have nothing to do with each other."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="keep-batch-dimension",
    title="Keep the batch dimension apart",
    code="""
lstm = torch.nn.LSTM(features, hidden, batch_first=True)   # likewise GRU, MultiheadAttention, TransformerEncoderLayer
x = x.permute(0, 2, 1)                                     # swap axes with permute; view only relabels memory
p = scores.softmax(dim=-1)                                 # name the axis, never the first
""",
    safety="caution",
    why_safe="Weights that were trained on mixed samples are of little use; begin again.",
    clears=("samples-mixed", "plateau", "underfitting"),
    doc="""\
Find the layer that takes the batch for another axis: with a batch of two different samples, exchange one and compare
the other's activations layer by layer; the first that changes is the one. Then tell it which axis is which:
`batch_first=True`, a permute instead of a view, an explicit `dim`. Check again with `traindx sanity train.py`.
""",
)
