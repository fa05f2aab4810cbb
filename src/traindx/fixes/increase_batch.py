"""Less noise per step."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="increase-batch",
    title="Average the gradient over more samples",
    code="""
loader = torch.utils.data.DataLoader(dataset, batch_size={double_batch}, shuffle=True)  # was {batch_size}

# no memory for that: the same gradient from two small batches (exact unless the model has BatchNorm)
for index, (inputs, targets) in enumerate(loader):
    (loss_fn(model(inputs), targets) / 2).backward()
    if index % 2 == 1:
        optimizer.step()
        optimizer.zero_grad()
""",
    safety="caution",
    why_safe="Each epoch takes fewer, calmer steps; without a larger rate or more epochs the run may end too early.",
    clears=("oscillation", "val-noisy", "loss-spike"),
    doc="""\
Gradient noise falls with the square root of the batch: four times the samples halve it. Right when the swings are
noise (no rhythm, same size everywhere) and the update-to-weight ratio is in range. Above the critical batch size more
samples buy nothing; the noise of the gradient relative to its mean says where that is (McCandlish et al. 2018). With
BatchNorm, accumulation does not enlarge the batch that the statistics see. Keep the number of updates in mind:
doubling the batch halves it.
""",
    defaults={"double_batch": "64", "batch_size": "smaller"},
    tries=("batch_size=x4", "batch_size=x16"),
    in_trainer="""
args = TrainingArguments(..., gradient_accumulation_steps=2)  # times 2; or a larger per_device_train_batch_size
""",
)
