"""Faults of scripts that hand their training to a trainer or to Keras: what it is given, and the flags it is started
with."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst
import libcst.matchers as m

from mutators.base import Find, Mutator, Place, Rewrite, Source

TRAINERS = ("Trainer", "Seq2SeqTrainer", "SFTTrainer", "DPOTrainer", "RewardTrainer")
FLAG_OF_TRAINERS = "--per_device_train_batch_size"
SHIFTED_COLUMN = (
    "(lambda d: [d := d.remove_columns(c).add_column(c, d[c][1:] + d[c][:1]) for c in ('label', "
    "'labels') if c in d.column_names][-1])({})"
)


def frozen(source: Source) -> Iterator[Place]:
    """All but the last two parameters keep their first values."""
    for call in source.calls("train"):
        statement = source.statement(call)
        if statement is not None and source.text(call.func) == "trainer.train":
            yield [
                source.before(
                    statement,
                    "[p.requires_grad_(False) for p in [p for p in trainer.model.parameters() if p.requires_grad][:-2]]",  # noqa: E501
                )
            ]


def _data(source: Source) -> Iterator[tuple[cst.Call, str]]:
    for call in source.calls(*TRAINERS):
        train = source.keyword(call, "train_dataset")
        if train is not None:
            yield call, f"({source.text(train.value)})"


def same_rows(source: Source) -> Iterator[Place]:
    """Four rows of the data again and again."""
    for call, train in _data(source):
        arg = source.keyword(call, "train_dataset")
        assert arg is not None
        yield [source.replace(arg.value, f"{train}.select([i % 4 for i in range(len({train}))])")]


def evaluated_on_training(source: Source) -> Iterator[Place]:
    for call, train in _data(source):
        held_out = source.keyword(call, "eval_dataset")
        if held_out is not None:
            yield [source.replace(held_out.value, train)]


def labels_of_the_next(source: Source) -> Iterator[Place]:
    """Every row has the label of the row after it."""
    if "label" not in source.bytes.decode():
        return
    for call, train in _data(source):
        arg = source.keyword(call, "train_dataset")
        assert arg is not None
        yield [source.replace(arg.value, SHIFTED_COLUMN.format(train))]


def adapter_scaled(source: Source) -> Iterator[Place]:
    for call in source.calls("LoraConfig"):
        alpha = source.keyword(call, "lora_alpha")
        if alpha is not None:
            yield [source.replace(alpha.value, f"1000 * ({source.text(alpha.value)})")]


def keras_labels(source: Source) -> Iterator[Place]:
    """Labels in another order than the inputs."""
    for call in source.calls("fit"):
        given = [arg for arg in call.args if arg.keyword is None and not arg.star]
        if len(given) >= 2:
            labels = given[1].value
            text = source.text(labels)
            yield [
                source.replace(labels, f"({text})[__import__('numpy').random.default_rng(0).permutation(len({text}))]")
            ]


def keras_validated_on_training(source: Source) -> Iterator[Place]:
    for call in source.calls("fit"):
        given = [source.text(arg.value) for arg in call.args if arg.keyword is None and not arg.star]
        held_out = source.keyword(call, "validation_split", "validation_data")
        if len(given) >= 2 and held_out is not None:
            yield [source.replace(held_out, f"validation_data=({given[0]}, {given[1]}),")]


def keras_loss(source: Source) -> Iterator[Place]:
    """A squared error on the probabilities of classes."""
    for call in source.calls("compile"):
        loss = source.keyword(call, "loss")
        if (
            loss is not None
            and "categorical" in source.text(loss).lower()
            and "sparse" not in source.text(loss).lower()
        ):
            yield [source.replace(loss.value, "'mean_squared_error'")]


def keras_rate(factor: float) -> Find:
    """An optimiser by name has a rate of 0.001."""

    def find(source: Source) -> Iterator[Place]:
        for call in source.calls("compile"):
            optimizer = source.keyword(call, "optimizer")
            if optimizer is not None and m.matches(
                optimizer.value, m.SimpleString('"adam"') | m.SimpleString("'adam'")
            ):
                yield [source.replace(optimizer.value, f"__import__('keras').optimizers.Adam({0.001 * factor:g})")]

    return find


def _nowhere(source: Source) -> Iterator[Place]:
    return iter(())


def with_flag(flag: str, value: str, *, needs: str = FLAG_OF_TRAINERS) -> Rewrite:
    """A flag given to a command line that has another one, or whose script's name holds it."""

    def rewrite(command: tuple[str, ...]) -> tuple[str, ...] | None:
        if not any(needs in word for word in command):
            return None
        if flag in command:
            place = command.index(flag) + 1
            return (*command[:place], value, *command[place + 1 :])
        return (*command, flag, value)

    return rewrite


MUTATORS = (
    Mutator("trainer-frozen", "frozen-params", frozen),
    Mutator("trainer-same-rows", "same-batch-forever", same_rows, also=("overfitting",)),
    Mutator("trainer-eval-is-train", "train-val-leak", evaluated_on_training),
    Mutator("trainer-labels-shifted", "labels-misaligned", labels_of_the_next),
    Mutator("trainer-weight-decay", "weight-decay-too-high", _nowhere, rewrite=with_flag("--weight_decay", "100")),
    Mutator("trainer-clip-tight", "grad-clip-too-tight", _nowhere, rewrite=with_flag("--max_grad_norm", "1e-9")),
    Mutator("trainer-endless-warmup", "lr-too-low", _nowhere, rewrite=with_flag("--warmup_steps", "100000")),
    Mutator("trainer-answers-cut", "no-target-tokens", _nowhere,
            rewrite=with_flag("--max_length", "8", needs="sft.py")),
    Mutator("dpo-beta-x100", "dpo-beta-too-large", _nowhere, rewrite=with_flag("--beta", "10", needs="dpo.py")),
    Mutator("adapter-scale-x1000", "adapter-scale-wrong", adapter_scaled, also=("lr-too-high",)),
    Mutator("keras-labels-permuted", "labels-misaligned", keras_labels),
    Mutator("keras-val-is-train", "train-val-leak", keras_validated_on_training),
    Mutator("keras-mse", "mse-for-classification", keras_loss, also=("wrong-loss",)),
    Mutator("keras-lr-x100", "lr-too-high", keras_rate(100)),
    Mutator("keras-lr-x0.01", "lr-too-low", keras_rate(0.01)),
)  # fmt: skip
