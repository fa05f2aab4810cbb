"""The loss made for one class of K."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="use-cross-entropy",
    title="Use cross-entropy on raw scores",
    code="""
criterion = torch.nn.CrossEntropyLoss()        # contains log_softmax: the model returns {classes} raw scores
loss = criterion(model(x), y.long())           # y holds class numbers 0 … {classes}-1, shape (N,)
print(loss.item(), "expected at the start:", torch.log(torch.tensor({classes}.0)).item())
""",
    safety="caution",
    why_safe="Changes the scale of the loss and of its gradients: the learning rate may need a new look.",
    clears=("negative-loss", "plateau", "underfitting"),
    doc="""\
Takes logits and class numbers, applies a stable log-softmax and returns the negative log-probability of the right
class. Gradients are p - y, so a confidently wrong sample pulls hardest. Remove any softmax or log-softmax of your own
and turn one-hot targets into indices with `argmax(dim=1)`. The first loss must be near ln(classes); far from it, the
labels or the head are wrong. Losses of earlier runs with another criterion are not comparable.
""",
    defaults={"classes": "10"},
    tries=("logits", "classify"),
)
