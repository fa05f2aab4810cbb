"""Nothing trainable is left out."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="pass-all-params-to-optimizer",
    title="Give every parameter to the optimizer",
    code="""
model.to(device)  # replace heads, tie weights, freeze and move first; the optimizer comes last
optimizer = torch.optim.{optimizer}([p for p in model.parameters() if p.requires_grad], lr={lr})
held = {id(p) for group in optimizer.param_groups for p in group["params"]}
missed = [name for name, p in model.named_parameters() if p.requires_grad and id(p) not in held]
assert not missed, f"not optimised: {missed}"
""",
    safety="safe",
    why_safe="Parameters that already train keep their optimizer and rate; the others start to move.",
    clears=("unchanged-weights", "flat-from-start", "underfitting"),
    doc="""\
Rebuilds the optimizer from the finished model and proves that nothing is missing. Layers kept in plain lists do not
show up in `parameters()` at all: put them into `nn.ModuleList` first and compare the parameter count. Momentum and
Adam moments start from zero, so expect a short unsteady phase when you resume. Watch that every layer's weights
change within the first ten steps; a loss that now falls further than before confirms the cause.
""",
    defaults={"optimizer": "AdamW", "lr": "1e-3"},
    tries=("all_params",),
)
