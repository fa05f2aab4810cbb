"""What the model knew stays in the batches."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="keep-general-data",
    title="Mix general text into the batches and lower the rate",
    code="""
# 5 to 20 % of the batches from text like that of the pretraining
data = datasets.interleave_datasets([task, general], probabilities=[0.9, 0.1], seed=0)
args = TrainingArguments(..., learning_rate=1e-5, num_train_epochs=1)  # or LoRA, which forgets less
""",
    safety="caution",
    why_safe="The task learns a little more slowly; less of what the model knew is overwritten.",
    clears=("general-loss-rises",),
    doc="""\
Evaluate general text beside the task from the first step on: it is the only way to see it. A lower rate and fewer
epochs come first, because they cost nothing. LoRA changes less and forgets less, and learns less too where the task
is far away. Averaging the weights of base and fine-tuned model is a remedy after the fact.
""",
)
