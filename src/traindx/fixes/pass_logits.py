"""The loss does the softmax."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="pass-logits",
    title="Return logits, without softmax or sigmoid",
    code="""
class Classifier(torch.nn.Module):
    def __init__(self, backbone, width, classes={classes}):
        super().__init__()
        self.backbone = backbone
        self.head = torch.nn.Linear(width, classes)

    def forward(self, x):
        return self.head(self.backbone(x))      # logits: no softmax here

criterion = torch.nn.CrossEntropyLoss()
probabilities = model(x).softmax(dim=-1)        # only where somebody looks at them
""",
    safety="caution",
    why_safe="Outputs are no longer probabilities: code that reads them must apply softmax itself.",
    clears=("plateau", "underfitting", "slow-convergence"),
    doc="""\
Removes the second squashing, so that the loss can reach zero and gradients are p - y. `argmax` and accuracy do not
change. Search for every user of the outputs (thresholds, calibration, export) and apply the softmax there. Existing
weights can be trained on: the ranking they learned is right. Expect larger gradients at first, and lower the rate a
little if the first steps are rough. Success is a loss below ln(e + K - 1) - 1.
""",
    defaults={"classes": "10"},
    tries=("logits",),
)
