"""The names of loss functions, as recordings hold them: by what they are for. Instruments and symptoms both go by
them."""

from __future__ import annotations

# Losses that are written out, `((p - y) ** 2).mean()`, by what they make of a difference.
SQUARED, ABSOLUTE = "the squared error", "the absolute error"
REGRESSION = frozenset({"mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", SQUARED, ABSOLUTE})
BINARY_LOGITS = "binary_cross_entropy_with_logits"
WANT_LOGITS = frozenset({"cross_entropy", BINARY_LOGITS})
CLASSIFYING = WANT_LOGITS | {"nll_loss", "binary_cross_entropy"}
USUAL = REGRESSION | CLASSIFYING
OVER_CLASSES = frozenset({"cross_entropy", "nll_loss", "kl_div"})  # one number a class in each row of their input
# Loss functions that are at least 0 and are there to be made small.
MINIMISED = USUAL - {SQUARED, ABSOLUTE}
