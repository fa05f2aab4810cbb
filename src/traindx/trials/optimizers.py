"""Which optimisers a trial can put in place of the script's own, and what becomes of the settings. Used by the edit and
the treatment."""

from __future__ import annotations

from traindx.errors import TraindxError

USUAL_RATE = {"SGD": 0.01, "Adam": 1e-3, "AdamW": 1e-3, "NAdam": 1e-3, "RAdam": 1e-3, "Adamax": 2e-3, "RMSprop": 1e-3}
_BY_NAME = {name.lower(): name for name in USUAL_RATE}
_SHARED = frozenset({"params", "lr", "weight_decay", "foreach", "maximize"})
_OWN = {
    "SGD": {"momentum", "dampening", "nesterov"},
    "RMSprop": {"momentum", "alpha", "eps", "centered"},
    "Adam": {"betas", "eps", "amsgrad", "fused"},
    "AdamW": {"betas", "eps", "amsgrad", "fused"},
}


def chosen(value: str) -> str:
    """The class of this name, however it is spelt."""
    name = _BY_NAME.get(value.lower())
    if name is None:
        raise TraindxError(f"There is no optimiser {value!r} to try.", f"There are: {', '.join(_BY_NAME)}.")
    return name


def takes(name: str, option: str) -> bool:
    return option in _SHARED or option in _OWN.get(name, {"betas", "eps"})


def rate_for(old: str, new: str) -> float | None:
    """The usual rate of the new optimiser, where that of the old one means something else: SGD scales with the
    gradient, the others do not. None where the script's rate stays."""
    return USUAL_RATE[new] if (old == "SGD") != (new == "SGD") else None
