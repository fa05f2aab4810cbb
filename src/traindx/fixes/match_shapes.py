"""Sample against its own target."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="match-shapes",
    title="Give prediction and target the same shape",
    code="""
prediction = model(x).squeeze(-1)              # (N, 1) -> (N,)
y = y.to(prediction.dtype)
assert prediction.shape == y.shape, (prediction.shape, y.shape)
loss = torch.nn.functional.mse_loss(prediction, y)
# once, at the start of the program: turn the silent case into an error
import warnings
warnings.filterwarnings("error", message="Using a target size")
""",
    safety="safe",
    why_safe="Only the pairing changes; weights, rate and data stay as they are.",
    clears=("loss-at-chance", "prediction-collapse", "flat-from-start"),
    doc="""\
Removes the extra axis, so that each prediction meets its own target. Use `squeeze(-1)` and not `squeeze()`: the
latter also drops a batch of one. The filter catches PyTorch's own losses; hand-written ones need the assertion.
Training can go on with the present weights, though they have learned little. The loss must fall below the target
variance within the first epoch.
""",
    tries=("shapes",),
)
