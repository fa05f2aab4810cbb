"""Average several mistakes."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="ensemble-models",
    title="Average several models, or the weights of one run",
    code="""
averaged = torch.optim.swa_utils.AveragedModel(model, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.999))
for inputs, targets in loader:
    optimizer.zero_grad()
    loss_fn(model(inputs), targets).backward()
    optimizer.step()
    averaged.update_parameters(model)
torch.optim.swa_utils.update_bn(loader, averaged)  # only with BatchNorm; then validate `averaged`
""",
    safety="safe",
    why_safe="The trained model is unchanged; the average is a second set of weights beside it.",
    clears=("val-noisy", "val-spike"),
    doc="""\
Averaging removes the part of the error that differs between models. Five independently trained models with averaged
probabilities give the most, at five times the cost; an exponential moving average of one run gives much of it for
nothing. It lowers variance and cannot repair a systematic fault. Validate the averaged weights themselves, and
refresh BatchNorm statistics first.
""",
)
