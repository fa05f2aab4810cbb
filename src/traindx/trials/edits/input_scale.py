"""A BatchNorm without weights before the model, which standardises each feature of the input."""

from __future__ import annotations

import libcst as cst
import libcst.matchers as m

from traindx.trials import syntax
from traindx.trials.editing import Evidence
from traindx.trials.setting import Setting


def edit(module: cst.Module, setting: Setting, evidence: Evidence) -> cst.Module | None:
    names = {syntax.called(call) for call in syntax.calls_in(module)}
    if names & {"Embedding", "LSTM", "GRU", "RNN", "TransformerEncoder", "Conv1d", "Conv3d"}:
        return None
    layer = "LazyBatchNorm2d" if "Conv2d" in names else "LazyBatchNorm1d"
    optimizers = [call for call in syntax.calls_in(module) if syntax.is_optimizer(call)]
    if len(optimizers) != 1:
        return None
    given = optimizers[0].args[0].value
    model = (
        syntax.dotted(given.func.value) if isinstance(given, cst.Call) and isinstance(given.func, cst.Attribute) else ""
    )
    made = [
        node
        for node in m.findall(module, m.Assign(targets=[m.AssignTarget(m.Name(model))]))
        if isinstance(node, cst.Assign)
    ]
    if not model.isidentifier() or len(made) != 1:
        return None
    prefix = "torch.nn" if _imports_torch(module) else "nn"
    code = f"{model} = {prefix}.Sequential({prefix}.{layer}(affine=False), {model})  # standardises the inputs"
    return syntax.insert(module, lambda line: any(part is made[0] for part in line.body), after=[code])


def _imports_torch(module: cst.Module) -> bool:
    return bool(
        m.findall(
            module, m.Import(names=[m.ZeroOrMore(), m.ImportAlias(name=m.Name("torch"), asname=None), m.ZeroOrMore()])
        )
    )
