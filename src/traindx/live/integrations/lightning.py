"""Lightning: `Trainer(callbacks=[TraindxCallback()])`, for `lightning` and for `pytorch_lightning`."""

from __future__ import annotations

import importlib
import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from traindx.diagnosis import Diagnosis
from traindx.live.integrations.session import Session

_PACKAGES = ("lightning.pytorch", "pytorch_lightning")


def _bases() -> tuple[type, ...]:
    """`Callback` of the package that the script uses, of both where it uses both."""
    loaded = [name for name in _PACKAGES if name in sys.modules]
    found = []
    for name in loaded or _PACKAGES:
        try:
            found.append(importlib.import_module(name).Callback)
        except ImportError:
            continue
        if not loaded:
            break
    if not found:
        raise ImportError("traindx.lightning needs Lightning: pip install lightning")
    return tuple(found)


if TYPE_CHECKING:

    class _Callback:
        pass
else:
    _Callback = type("_Callback", _bases(), {})


class TraindxCallback(_Callback):
    """Records `fit` from the inside and prints the diagnosis at its end, also when it ends in an exception. The
    training's numbers stay what they are. `diagnosis` holds the page afterwards; the recording is NAME.traindx."""

    def __init__(self, to: str | Path | None = None, *, budget: float = 0.01, report: bool = True) -> None:
        """`to`: where to record, lightning.traindx by default; `budget`: the share of time it may take."""
        super().__init__()
        self._session = Session("lightning", to, budget, report)

    @property
    def diagnosis(self) -> Diagnosis:
        return self._session.diagnosis

    def setup(self, trainer: Any, pl_module: Any, stage: str) -> None:
        if stage == "fit":
            self._session.begin(pl_module, cut_short=bool(trainer.fast_dev_run))

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        hparams = dict(getattr(pl_module, "hparams_initial", None) or {})
        if getattr(trainer, "datamodule", None) is not None:
            hparams = {**dict(trainer.datamodule.hparams_initial), **hparams}
        steps = trainer.estimated_stepping_batches
        plan = {
            "max_epochs": trainer.max_epochs if (trainer.max_epochs or -1) > 0 else None,
            "max_steps": steps if math.isfinite(steps) else None,
            "precision": str(trainer.precision),
            "accumulate_grad_batches": trainer.accumulate_grad_batches,
        }
        self._session.config({"hparams": hparams, "trainer": {k: v for k, v in plan.items() if v is not None}})

    def on_train_epoch_start(self, trainer: Any, pl_module: Any) -> None:
        self._session.log({"epoch": trainer.current_epoch})

    def on_validation_end(self, trainer: Any, pl_module: Any) -> None:
        if not trainer.sanity_checking:
            self._session.log(trainer.callback_metrics)

    def on_train_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        self._session.log(trainer.callback_metrics)

    def on_fit_end(self, trainer: Any, pl_module: Any) -> None:
        self._session.end()

    def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
        self._session.end(exception)
