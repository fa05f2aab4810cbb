"""Statistics from training only."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="fit-preprocessing-on-train",
    title="Fit scalers and vocabularies on training only",
    code="""
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

prepare = make_pipeline(StandardScaler())      # imputers, encoders and feature selection belong in here too
x_train = prepare.fit_transform(x_train)
x_val = prepare.transform(x_val)               # transform only
""",
    safety="caution",
    why_safe="Validation loses information it should not have had; its score may fall.",
    clears=("suspiciously-good",),
    doc="""\
Keeps the statistics of validation out of training. The effect of a leaked mean is small; that of leaked target
encoding, feature selection or a vocabulary built on all text can be large. Inside cross-validation the fit must
happen in each fold. Save the fitted object and use it in serving. If the score hardly moves, the leak is elsewhere:
look for copies and for features that encode the answer.
""",
)
