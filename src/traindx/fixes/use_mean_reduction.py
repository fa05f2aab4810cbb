"""A loss that does not grow with the batch."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="use-mean-reduction",
    title="Average the loss over the batch instead of summing it",
    code="""
loss_fn = torch.nn.CrossEntropyLoss(reduction="mean")
loss = loss_fn(model(inputs), targets)

# a hand-written loss: divide by what was summed, and by valid tokens where padding is masked
loss = (token_loss * mask).sum() / mask.sum().clamp(min=1)
""",
    safety="caution",
    why_safe="Gradients shrink by the batch size: a rate tuned for the sum is too low afterwards under plain SGD.",
    clears=("high-initial-loss", "exploding-gradients"),
    doc="""\
Makes loss and gradient independent of batch size and sequence length, so that published rates and clipping thresholds
apply. Right when the first loss is about batch size times the chance level, or when the last, smaller batch of an
epoch logs a visibly smaller loss. Under plain SGD multiply the old rate by the old batch size to keep the step, then
tune from there; under Adam leave it. Where the sum is intended (ELBO per sample, physics residuals) divide by the
batch size only.
""",
    tries=("reduction",),
)
