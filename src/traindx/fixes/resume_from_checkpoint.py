"""Go back to before the accident."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="resume-from-checkpoint",
    title="Resume from the last good checkpoint with a lower rate",
    code="""
state = torch.load("checkpoint.pt", map_location="cpu", weights_only=True)  # saved before {best_place}
model.load_state_dict(state["model"])
optimizer.load_state_dict(state["optimizer"])
for group in optimizer.param_groups:
    group["lr"] = {lower_lr}  # was {lr}; build the scheduler after this line, from the new value
""",
    safety="safe",
    why_safe="The checkpoint stays on disk; the steps after it were lost anyway.",
    clears=("divergence", "nonfinite-loss", "nonfinite-weight"),
    doc="""\
Weights that have gone through a spike without recovery, or hold NaN, are lost: go back a few hundred steps before it.
Change something, or the same data order leads to the same spike: lower the rate by 3 to 10, or skip the batches that
were in flight (PaLM restarted about 100 steps earlier and skipped 200 to 500 batches). Check the checkpoint for NaN
first, including the optimizer's moments. Save one at least every few per cent of the run, and keep more than the
latest.
""",
    defaults={"best_place": "the trouble", "lower_lr": "1e-4", "lr": "higher"},
)
