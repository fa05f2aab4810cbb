"""Smaller is better, for every term."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="flip-loss-sign",
    title="Minimise the loss instead of the score",
    code="""
loss = 1 - dice                                # scores in 0 … 1: dice, IoU, SSIM, cosine similarity
loss = -log_likelihood.mean()                  # log-probabilities, returns, ELBO
optimizer = torch.optim.{optimizer}(model.parameters(), lr={lr}, maximize=False)
# one small step on one batch must lower the loss of that batch
""",
    safety="safe",
    why_safe="The direction was wrong; no correct behaviour is lost.",
    clears=("divergence", "negative-loss"),
    doc="""\
Turns every quantity that should grow into one that should shrink, and leaves the optimizer minimising. Keep one of
the lines that fits your objective. In a sum check each term: one wrong sign is enough. Start from the initial
weights, because the present ones were driven away from the solution. The first test is one step at a small rate: the
loss on the same batch must fall. Then accuracy rises above chance.
""",
    defaults={"optimizer": "AdamW", "lr": "1e-3"},
    tries=("sign",),
)
