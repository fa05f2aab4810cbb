"""Ask for numbers rarely."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="avoid-host-sync",
    title="Stop waiting for the device every step",
    code="""
running = torch.zeros((), device=device)
for step, (x, y) in enumerate(train_loader):
    x, y = x.to(device, non_blocking=True), y.to(device, non_blocking=True)
    loss = criterion(model(x), y)
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
    running += loss.detach()                   # stays on the device
    if step % 100 == 99:
        print(step, (running / 100).item())    # one wait per hundred steps
        running.zero_()
# to find the others, for ten steps: torch.cuda.set_sync_debug_mode("warn")
""",
    safety="safe",
    why_safe="The same computation; numbers for the log arrive a little later.",
    clears=("slow-step",),
    doc="""\
Keeps sums on the device and reads them every hundred steps, so that Python can run ahead and the queue never empties.
Do the same for accuracy, gradient norms and progress bars. Conditions on tensors become `torch.where` or a check
every N steps. NaN is then noticed up to a hundred steps late: keep checkpoints accordingly. The warning mode names
each remaining wait with its line; switch it off afterwards. Measure with `torch.cuda.synchronize()` around the whole
stretch, not around each step.
""",
)
