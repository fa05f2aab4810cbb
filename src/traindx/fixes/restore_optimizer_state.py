"""Resume everything, not only the weights."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="restore-optimizer-state",
    title="Save and restore optimizer, scheduler and scaler with the model",
    code="""
torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(),
            "scheduler": scheduler.state_dict(), "step": step}, "last.pt")

state = torch.load("last.pt", map_location="cpu", weights_only=True)
model.load_state_dict(state["model"])
optimizer.load_state_dict(state["optimizer"])  # after model.to(device)
scheduler.load_state_dict(state["scheduler"])
step = state["step"]
""",
    safety="safe",
    why_safe="A resumed run continues as if it had never stopped; a run in progress is not touched.",
    clears=("loss-spike", "lr-schedule-anomaly"),
    doc="""\
Without its moments Adam takes its first steps after a resume as if the training were new, and without the scheduler
the rate jumps back to its start. Add the GradScaler's state under AMP, and the sampler's position if an epoch spans
days. If the moments are lost for good, resume with a short warm-up of a few hundred steps. Check by resuming a
healthy run: the loss must join its old curve within the noise.
""",
)
