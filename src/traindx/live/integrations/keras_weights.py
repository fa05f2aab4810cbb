"""What one step of a Keras model did to its weights: sizes, updates, and the gradients where they can be known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    keras: Any
else:
    import keras

MAX_VARIABLES = 60  # variables with series of their own
SNAPSHOT = 16 << 20  # numbers copied at most to see an update
_ADAM = ("Adam", "AdamW")
# with any of these the optimiser does not see the raw gradient
_CHANGED = ("clipnorm", "global_clipnorm", "clipvalue", "gradient_accumulation_steps", "use_ema")

Numbers = NDArray[np.floating[Any]]


def chosen(model: Any) -> list[tuple[str, Any]]:
    """The trainable variables with series of their own, spread over the model where there are many."""
    variables = list(model.trainable_variables)
    if len(variables) > MAX_VARIABLES:
        variables = [variables[round(i * (len(variables) - 1) / (MAX_VARIABLES - 1))] for i in range(MAX_VARIABLES)]
    room = SNAPSHOT
    fitting = []
    for variable in variables:
        room -= int(np.prod(variable.shape, dtype=np.int64))
        if room >= 0:
            fitting.append((_name(model, variable), variable))
    return fitting


def learning_rate(optimizer: Any) -> float | None:
    try:
        return float(optimizer.learning_rate)
    except (AttributeError, TypeError, ValueError):
        return None


class Start:
    """Where the weight matrices began."""

    def __init__(self, model: Any) -> None:
        matrices = [variable for _, variable in chosen(model) if len(variable.shape) >= 2]
        self._first = [(variable, _numbers(variable)) for variable in matrices]

    def travel(self) -> dict[str, float]:
        """How far they have gone, by their size, in the middle of all; those that began at zero have no size."""
        sizes = [(variable, first, _norm(first)) for variable, first in self._first]
        gone = [_norm(_numbers(variable) - first) / size for variable, first, size in sizes if size > 0]
        return {"weight_travel": float(np.median(gone))} if gone else {}


class Look:
    """Taken before a step; `after` compares."""

    def __init__(self, model: Any) -> None:
        self._watched = chosen(model)
        self._weights = [_numbers(variable) for _, variable in self._watched]
        self._slots = _slots(model, [variable for _, variable in self._watched])
        self._rate = learning_rate(model.optimizer)

    def after(self, model: Any) -> dict[str, float]:
        """Learning rate, and by variable: weight norm, ratio of update to weight, gradient norm."""
        row = {} if self._rate is None else {"lr": self._rate}
        weights = [_numbers(variable) for _, variable in self._watched]
        gradients = self._gradients(model, weights)
        for index, (name, _) in enumerate(self._watched):
            before, now = self._weights[index], weights[index]
            size = _norm(before)
            row[f"weight_norm/{name}"] = size
            if size > 0:
                row[f"update_ratio/{name}"] = _norm(now - before) / size
            if gradients is not None:
                row[f"grad_norm/{name}"] = _norm(gradients[index])
        if gradients is not None and len(gradients) == len(model.trainable_variables):
            row["grad_norm"] = float(np.sqrt(sum(_norm(gradient) ** 2 for gradient in gradients)))
        return row

    def _gradients(self, model: Any, weights: Sequence[Numbers]) -> list[Numbers] | None:
        left: list[Any] = [getattr(variable.value, "grad", None) for _, variable in self._watched]
        if left and all(hasattr(gradient, "detach") for gradient in left):  # torch keeps them until the next step
            return [gradient.detach().float().cpu().numpy() for gradient in left]
        optimizer = model.optimizer
        if any(getattr(optimizer, name, None) for name in _CHANGED):
            return None
        kind = type(optimizer).__name__
        if kind in _ADAM and self._slots is not None:
            now, beta = _slots(model, [variable for _, variable in self._watched]), np.float32(optimizer.beta_1)
            if now is not None and beta < 1:
                return [(m - beta * before) / (1 - beta) for before, m in zip(self._slots, now, strict=True)]
        plain = kind == "SGD" and not optimizer.momentum and not optimizer.weight_decay
        if plain and self._rate:
            rate = np.float32(self._rate)
            return [(before - now) / rate for before, now in zip(self._weights, weights, strict=True)]
        return None


def _slots(model: Any, variables: Sequence[Any]) -> list[Numbers] | None:
    """Adam's running means of the gradients of these variables. The list is not public: None where it is not as
    expected."""
    means = getattr(model.optimizer, "_momentums", None)
    trained = list(model.trainable_variables)
    if type(model.optimizer).__name__ not in _ADAM or not isinstance(means, list) or len(means) != len(trained):
        return None
    found = []
    for variable in variables:
        mean = means[next(index for index, one in enumerate(trained) if one is variable)]
        if mean is None or tuple(mean.shape) != tuple(variable.shape):
            return None
        found.append(_numbers(mean))
    return found


def _numbers(variable: Any) -> Numbers:
    """A copy on the host: what Keras hands out may be the very memory the next step writes."""
    return np.array(keras.ops.convert_to_numpy(variable), dtype=np.float32, copy=True)


def _norm(numbers: Numbers) -> float:
    return float(np.linalg.norm(numbers.reshape(-1).astype(np.float64)))


def _name(model: Any, variable: Any) -> str:
    """'dense.kernel' for 'sequential/dense/kernel'."""
    path = str(getattr(variable, "path", variable.name))
    return path.removeprefix(f"{model.name}/").replace("/", ".")
