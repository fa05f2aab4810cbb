"""Find them, look at them, remove them."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="drop-bad-samples",
    title="Scan the data and drop broken samples",
    code="""
bad = []
for index in range(len(dataset)):              # once, offline; cache the list
    try:
        x, y = dataset[index]
        ok = torch.isfinite(torch.as_tensor(x).float()).all() and torch.isfinite(torch.as_tensor(y).float()).all()
        ok = ok and torch.as_tensor(x).float().abs().max() < 1e4
    except Exception as error:
        ok = False
        print(index, error)
    if not ok:
        bad.append(index)
print(f"{len(bad)} of {len(dataset)}:", bad[:20])
keep = sorted(set(range(len(dataset))) - set(bad))
dataset = torch.utils.data.Subset(dataset, keep)
""",
    safety="caution",
    why_safe="Removing samples changes the data: look at them first, valid extremes may be among them.",
    clears=("nonfinite-loss", "loss-spike", "nonfinite-activation"),
    doc="""\
Reads every sample once and lists those that are not finite, unreadable or far out of range. Set the limit to your
data: 1e4 suits standardised inputs. Look at twenty of them before dropping; a unit error or a decimal comma is better
repaired than removed. If one class or one source loses many samples, the fault lies upstream. Fit scalers again
afterwards, since outliers have bent them. Spikes or NaN must be gone over one whole epoch.
""",
    tries=("nan_inputs",),
)
