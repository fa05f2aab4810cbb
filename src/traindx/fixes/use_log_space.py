"""Never form the small number."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="use-log-space",
    title="Stay in log space",
    code="""
log_p = torch.nn.functional.log_softmax(logits, dim=-1)       # not log(softmax(x))
entropy = -(log_p.exp() * log_p).sum(-1).mean()               # finite for any finite logits
kl = torch.nn.functional.kl_div(log_p, log_q, log_target=True, reduction="batchmean")
binary = torch.nn.functional.binary_cross_entropy_with_logits(logit, target)   # not log(sigmoid(x))
total = torch.logsumexp(log_terms, dim=-1)                    # not log(exp(x).sum())
""",
    safety="safe",
    why_safe="Mathematically the same quantity, computed without overflow or underflow.",
    clears=("nonfinite-loss", "nonfinite-gradient"),
    tries=("log_space",),
    doc="""\
Replaces log(softmax), log(sigmoid) and log(sum(exp)) by their stable forms, which subtract the maximum first. Values
agree to rounding error wherever the old form was finite. Pass logits around instead of probabilities, and convert at
the very end. For 1 - p and 1 + x with small x use `logsigmoid(-z)` and `log1p`. Resume from a checkpoint that is
still finite. The same batch that gave NaN must now give a finite loss and gradient.
""",
)
