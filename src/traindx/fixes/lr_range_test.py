"""Measure the usable range instead of guessing it."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="lr-range-test",
    title="Find the learning rate with a range test",
    code="""
import copy, itertools, math

probe = copy.deepcopy(model)
optimizer = torch.optim.AdamW(probe.parameters(), lr=1e-7)
best, smooth = math.inf, None
for step, (inputs, targets) in zip(range(200), itertools.cycle(loader)):
    lr = 1e-7 * 10 ** (7 * step / 199)  # 1e-7 to 1, evenly in the exponent
    for group in optimizer.param_groups:
        group["lr"] = lr
    optimizer.zero_grad()
    loss = loss_fn(probe(inputs), targets)
    loss.backward()
    optimizer.step()
    smooth = loss.item() if smooth is None else 0.9 * smooth + 0.1 * loss.item()
    best = min(best, smooth)
    print(f"{lr:.1e} {smooth:.4f}")
    if not smooth < 4 * best:  # also stops on NaN
        break
# take a third to a tenth of the rate at which the loss turns up
""",
    safety="safe",
    why_safe="It trains a copy for 200 steps; the run and its weights are not touched.",
    clears=(),
    doc="""\
Raises the rate from 1e-7 to 1 over 200 steps and shows where the loss begins to fall, falls fastest and turns up
(Smith 2017). Use your own optimizer class, because the ranges of SGD and Adam differ by a factor of 10 to 100. The
steepest point is a sound peak for a schedule with warm-up; for a constant rate take a third of it. A curve that never
falls at any rate is itself a diagnosis: the fault is in gradients, loss or data, not in the rate. Repeat after
changing batch size or model.
""",
)
