"""Settings of a training whose loop belongs to a trainer: they are written where its arguments are made."""

from __future__ import annotations

import libcst as cst

from traindx.trials import syntax
from traindx.trials.setting import Setting
from traindx.trials.values import set_value

_MADE_BY = ("Arguments", "Config")  # TrainingArguments, Seq2SeqTrainingArguments, SFTConfig, DPOConfig
_OF_A_TRAINER = frozenset({"output_dir", "num_train_epochs", "per_device_train_batch_size", "learning_rate"})


def in_arguments(module: cst.Module, names: tuple[str, ...], setting: Setting) -> cst.Module | None:
    """The first of these arguments that is given, changed; None where no call, or more than one, gives it."""
    calls = [call for call in syntax.calls_in(module) if _of_a_trainer(call)]
    if len(calls) != 1:
        return None
    for name in names:
        given = syntax.argument(calls[0], name)
        if given is None or (syntax.number_of(given.value) or 1.0) < 0:  # max_steps=-1: no limit
            continue

        def put(value: cst.BaseExpression, name: str = name) -> cst.Module | None:
            return syntax.rewrite_calls(
                module,
                lambda one: syntax.with_argument(one, name, value) if one.deep_equals(calls[0]) else None,
            )

        return set_value(module, given.value, setting, put)
    return None


def _of_a_trainer(call: cst.Call) -> bool:
    name = syntax.called(call)
    given = {one.keyword.value for one in call.args if one.keyword is not None}
    return name.endswith(_MADE_BY) and ("TrainingArguments" in name or bool(given & _OF_A_TRAINER))
