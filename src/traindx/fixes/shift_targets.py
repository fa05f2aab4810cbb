"""Predict the next token, once."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="shift-targets",
    title="Shift the targets by exactly one",
    code="""
logits = model(tokens)                 # (batch, time, vocabulary)
loss = torch.nn.functional.cross_entropy(
    logits[:, :-1].reshape(-1, logits.size(-1)),
    tokens[:, 1:].reshape(-1),
    ignore_index=-100,
)
# Hugging Face causal models shift inside: pass labels=input_ids, unshifted
""",
    safety="disruptive",
    why_safe="The task changes, so weights trained on the wrong one are of little use.",
    clears=("suspiciously-good", "underfitting"),
    tries=("shift",),
    judged_by="symptom",
    doc="""\
Compares the output at position t with the token at t+1, and does so in one place only. Decide who shifts, the data
code or the model, and delete the other. The last position has no target and is dropped. Print a dozen input and
target tokens side by side once. Afterwards the loss starts near ln(vocabulary) and falls slowly to an ordinary level;
a loss near zero means that something still leaks.
""",
)
