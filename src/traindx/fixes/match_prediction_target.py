"""One meaning of the model's output, in training and in sampling."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="match-prediction-target",
    title="Train and sample with one meaning of the output",
    code="""
noise = torch.randn_like(x0)                         # once: for the input and for the target
noisy = a.sqrt() * x0 + (1 - a).sqrt() * noise
loss = F.mse_loss(model(noisy, t), noise)            # diffusers: scheduler.config.prediction_type == "epsilon"

# sampling with a model that gives the noise:
x0_hat = (x - (1 - a_t).sqrt() * model(x, t)) / a_t.sqrt()
""",
    safety="disruptive",
    why_safe="Target or sampler changes. A wrong sampler is corrected without training anew; a wrong target is not.",
    clears=("target-not-in-input", "sampler-reads-otherwise"),
    doc="""\
Decide on one of noise, data or velocity. Where only the sampler reads the output otherwise, correct the sampler: the
weights are good. Where the target is noise that was drawn a second time, nothing was learnt and the training starts
again.
""",
)
