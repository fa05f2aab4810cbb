"""Recurrence with a way through time."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="gated-recurrence",
    title="Use GRU or LSTM instead of a plain RNN",
    code="""
rnn = torch.nn.GRU(input_size, hidden_size, batch_first=True)  # was torch.nn.RNN
for name, weight in rnn.named_parameters():
    if name.startswith("weight_hh"):
        for gate in weight.chunk(3):
            torch.nn.init.orthogonal_(gate)
""",
    safety="disruptive",
    why_safe="Another cell with three (GRU) or four (LSTM) times the parameters: train again.",
    clears=("vanishing-gradients", "exploding-gradients"),
    doc="""\
A plain RNN multiplies the gradient by the same matrix at every time step: above spectral radius 1 it explodes, below
it vanishes. Gates give it a path along which it is nearly unchanged. Gated cells still explode now and then, so
clipping stays on. Set an LSTM's forget-gate bias to 1 for long memory. Truncate backpropagation at the length that
matters: a thousand steps are too many for any recurrent cell.
""",
)
