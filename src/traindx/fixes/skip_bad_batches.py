"""Insurance, not a cure."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="skip-bad-batches",
    title="Skip a batch that is not finite or far out of line",
    code="""
usual, skipped = None, 0                       # before the loop

optimizer.zero_grad()
loss = criterion(model(x), y)
loss.backward()
norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
size = float(norm)                             # one synchronisation per step
if size == size and size != float("inf") and (usual is None or size < 10 * usual):
    optimizer.step()
    usual = size if usual is None else 0.99 * usual + 0.01 * size
else:
    skipped += 1
    torch.save({"x": x, "y": y, "step": step}, f"bad-batch-{step}.pt")
    assert skipped < 20, "too many bad batches: find the cause"
""",
    safety="caution",
    why_safe="Hides its cause if nobody reads the count; too tight a limit drops hard but valid samples.",
    clears=("nonfinite-weight", "loss-spike", "divergence"),
    doc="""\
Refuses an update whose gradient is not finite or ten times above its usual size, keeps the batch for inspection, and
stops when that becomes frequent. It protects the weights: once NaN is written into them, only a checkpoint helps.
Under data parallelism all ranks must take the same decision, so reduce the flag first. The saved batches are the real
gain: they show whether data or numerics is at fault. Remove the guard's tolerance once the cause is fixed.
""",
    tries=("skip_bad",),
)
