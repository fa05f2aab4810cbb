"""More steps per epoch."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="decrease-batch",
    title="Use smaller batches, so that an epoch holds more updates",
    code="""
batch_size = max(8, {batch_size} // 4)
loader = torch.utils.data.DataLoader(dataset, batch_size=batch_size, shuffle=True)  # was {batch_size}
""",
    safety="caution",
    why_safe="More noise per step and less efficient hardware use; lower the learning rate too if the loss gets "
    "restless.",
    clears=("slow-convergence", "still-improving"),
    doc="""\
The same data gives four times as many updates, and the added noise often finds flatter, better generalising minima
(Keskar et al. 2017). Right when the whole run has only a few hundred updates. Not right when the step time is
dominated by overhead: then keep the batch and train more epochs. Stay above about 8 samples per device with
BatchNorm. Compare runs by updates and by samples seen, never by epochs alone.
""",
    defaults={"batch_size": "256"},
    tries=("batch_size=x0.25",),
    in_trainer="""
args = TrainingArguments(..., per_device_train_batch_size=max(8, {batch_size} // 4))  # was {batch_size}
""",
)
