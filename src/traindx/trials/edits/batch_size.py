"""The batch size of the training data loader, or the one number by which the script cuts its batches."""

from __future__ import annotations

import libcst as cst
import libcst.matchers as m

from traindx.trials import syntax
from traindx.trials.editing import Evidence
from traindx.trials.setting import Setting
from traindx.trials.trainer_arguments import in_arguments
from traindx.trials.values import set_value


def edit(module: cst.Module, setting: Setting, evidence: Evidence) -> cst.Module | None:
    own = _of_loader(module, setting) or _of_slices(module, setting) or _of_split(module, setting)
    return own or in_arguments(module, ("per_device_train_batch_size",), setting)


def _of_loader(module: cst.Module, setting: Setting) -> cst.Module | None:
    """The first loader is that of training; one value that all share changes for all."""
    loaders = [call for call in syntax.calls_in(module) if syntax.called(call) == "DataLoader"]
    given = syntax.argument(loaders[0], "batch_size", 1) if loaders else None
    if given is None:
        return None
    first = loaders[0]

    def put(value: cst.BaseExpression) -> cst.Module | None:
        return syntax.rewrite_calls(
            module,
            lambda call: (
                syntax.with_argument(call, "batch_size", _whole(value), 1) if call.deep_equals(first) else None
            ),
        )

    return set_value(module, given.value, setting, put)


def _of_slices(module: cst.Module, setting: Setting) -> cst.Module | None:
    """`for i in range(0, n, 25): … order[i:i + 25]`: both numbers are one. In the loop itself, or in a function that
    hands batches out."""
    for loop in m.findall(
        module, m.For(target=m.Name(), iter=m.Call(func=m.Name("range"), args=[m.Arg(), m.Arg(), m.Arg()]))
    ):
        assert isinstance(loop, cst.For)
        assert isinstance(loop.iter, cst.Call)
        if "backward" not in {syntax.called(call) for call in syntax.calls_in(loop)} and not m.findall(loop, m.Yield()):
            continue
        size = loop.iter.args[2].value
        if isinstance(size, cst.Name | cst.Attribute):
            return set_value(module, size, setting, lambda value: None)
        number = syntax.number_of(size)
        name = syntax.last_name(loop.target) if isinstance(loop.target, cst.Name) else ""
        if number is None:
            continue
        new = syntax.number(max(1.0, round(setting.number(number))))

        changed = loop.visit(_Sizes(name, number, new))
        assert isinstance(changed, cst.For)
        assert isinstance(changed.iter, cst.Call)
        args = [*changed.iter.args[:2], changed.iter.args[2].with_changes(value=new)]
        return module.deep_replace(loop, changed.with_changes(iter=changed.iter.with_changes(args=args)))  # type: ignore[return-value]
    return None


def _of_split(module: cst.Module, setting: Setting) -> cst.Module | None:
    """`for idx in torch.randperm(n).split(32)`."""
    calls = [
        call for call in syntax.calls_in(module)
        if syntax.called(call) == "split" and len(call.args) == 1 and "perm" in module.code_for_node(call)
    ]  # fmt: skip
    if len(calls) != 1:
        return None
    old = calls[0]

    def put(value: cst.BaseExpression) -> cst.Module | None:
        new = old.with_changes(args=[old.args[0].with_changes(value=_whole(value))])
        return syntax.rewrite_calls(module, lambda call: new if call.deep_equals(old) else None)

    return set_value(module, old.args[0].value, setting, put)


def _whole(value: cst.BaseExpression) -> cst.BaseExpression:
    number = syntax.number_of(value)
    return value if number is None else syntax.number(max(1.0, round(number)))


class _Sizes(cst.CSTTransformer):
    """`i + 25` with another number."""

    def __init__(self, name: str, old: float, new: cst.BaseExpression) -> None:
        super().__init__()
        self.name, self.old, self.new = name, old, new

    def leave_BinaryOperation(
        self, original_node: cst.BinaryOperation, updated_node: cst.BinaryOperation
    ) -> cst.BinaryOperation:
        added = isinstance(updated_node.operator, cst.Add) and syntax.last_name(updated_node.left) == self.name
        same = syntax.number_of(updated_node.right) == self.old
        return updated_node.with_changes(right=self.new) if added and same else updated_node
