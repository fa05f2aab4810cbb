"""What Keras itself knows of a model's loss: its class, `from_logits`, and the activation of the layer before it."""

from __future__ import annotations

from typing import Any

from traindx.measurements import DeclaredLoss


def declared_loss(model: Any) -> DeclaredLoss | None:
    """None where the loss is no cross-entropy of one output, or its layer is not to be seen."""
    loss, layers = getattr(model, "loss", None), list(getattr(model, "layers", ()))
    outputs = getattr(model, "outputs", None)
    if not layers or outputs is None or len(outputs) != 1:
        return None
    name = loss if isinstance(loss, str) else str(getattr(loss, "name", getattr(loss, "__name__", "")))
    if "crossentropy" not in name:
        return None
    activation = _activation(layers[-1])
    width = outputs[0].shape[-1] if len(outputs[0].shape) else None
    if activation is None or not isinstance(width, int):
        return None
    return DeclaredLoss(
        loss=name,
        binary="binary" in name,
        from_logits=_from_logits(loss),
        activation=activation,
        outputs=width,
    )


def _activation(layer: Any) -> str | None:
    """Of a layer with weights, or of one that is nothing else; None where it cannot be known."""
    if type(layer).__name__ == "Softmax":
        return "softmax"
    name = getattr(getattr(layer, "activation", None), "__name__", None)
    return name if isinstance(name, str) else None


def _from_logits(loss: Any) -> bool:
    """Losses that wrap a function keep its arguments; the newer ones keep the flag themselves too."""
    reported = getattr(loss, "from_logits", None)
    if reported is None:
        reported = (getattr(loss, "_fn_kwargs", None) or {}).get("from_logits")
    return bool(reported)
