"""What NLLLoss expects."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="add-log-softmax",
    title="End the model in log_softmax",
    code="""
def forward(self, x):
    return torch.nn.functional.log_softmax(self.head(self.body(x)), dim=1)

loss = torch.nn.functional.nll_loss(model(x), y)   # never negative now
""",
    safety="caution",
    why_safe="Outputs become log-probabilities: readers of the raw scores must be adapted.",
    clears=("negative-loss", "nonfinite-loss", "exploding-gradients"),
    doc="""\
Normalises the scores, so that raising one class lowers the others and the loss has its floor at zero. Choose this
over `CrossEntropyLoss` only when log-probabilities are needed elsewhere, in beam search or mixtures. Weights from the
unbounded run have grown large: start again. The first loss must be ln K and stay positive.
""",
    tries=("logits",),
)
