"""What the symptoms of train and eval mode share."""

from __future__ import annotations

from traindx.measurements import EvaluationModes, UpdateModes

CLARITY = 0.95  # the mode is read off the model itself


def layers(modes: UpdateModes | EvaluationModes) -> str:
    """The layers that act differently in train and eval mode."""
    parts = [f"{modes.dropouts} dropout"] if modes.dropouts else []
    parts += [f"{modes.batchnorms} batch-norm"] if modes.batchnorms else []
    return f"{' and '.join(parts)} layer{'s' if modes.dropouts + modes.batchnorms > 1 else ''}"
