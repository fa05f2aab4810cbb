"""Hugging Face: `Trainer(callbacks=[TraindxCallback()])`, or `TrainingArguments(report_to="traindx")` once this is
imported."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from traindx.diagnosis import Diagnosis
from traindx.live.integrations.session import Session

if TYPE_CHECKING:

    class TrainerCallback:
        pass
else:
    from transformers import TrainerCallback

NAME = "traindx"
SETTINGS = (  # of the hundred arguments those that bear on whether a training works
    "learning_rate", "per_device_train_batch_size", "gradient_accumulation_steps", "num_train_epochs", "warmup_steps",
    "warmup_ratio", "lr_scheduler_type", "weight_decay", "adam_beta1", "adam_beta2", "adam_epsilon", "max_grad_norm",
    "optim", "fp16", "bf16", "label_smoothing_factor", "gradient_checkpointing", "dataloader_num_workers", "seed",
)  # fmt: skip


class TraindxCallback(TrainerCallback):
    """Records `train` from the inside and prints the diagnosis at its end, or at the end of the script where an
    exception came first. The training's numbers stay what they are. `diagnosis` holds the page; the recording is
    NAME.traindx."""

    def __init__(self, to: str | Path | None = None, *, budget: float = 0.01, report: bool = True) -> None:
        """`to`: where to record, trainer.traindx by default; `budget`: the share of time it may take."""
        self._session = Session("trainer", to, budget, report)

    @property
    def diagnosis(self) -> Diagnosis:
        return self._session.diagnosis

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self._session.begin(kwargs.get("model"))
        chosen = {name: getattr(args, name, None) for name in SETTINGS}
        chosen = {name: getattr(value, "value", value) for name, value in chosen.items() if value is not None}
        self._session.config({"args": {**chosen, "max_steps": state.max_steps}})

    def on_log(self, args: Any, state: Any, control: Any, logs: dict[str, Any] | None = None, **kwargs: Any) -> None:
        """Evaluations come through here too, each with its names; what sums up a finished training says nothing new."""
        logs = logs or {}
        if "train_runtime" not in logs:
            self._session.log(logs)

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self._session.end()


def offer() -> None:
    """Make `report_to="traindx"` known. The table is private, so that a version without it just lacks the shortcut."""
    try:
        table = getattr(
            importlib.import_module("transformers.integrations.integration_utils"), "INTEGRATION_TO_CALLBACK", None
        )
    except ImportError:
        return
    if isinstance(table, dict):
        table.setdefault(NAME, TraindxCallback)


offer()
