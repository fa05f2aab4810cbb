"""A causal mask in the attention: before its softmax, or as an argument of torch's own function."""

from __future__ import annotations

import libcst as cst
import libcst.matchers as m

from traindx.trials import syntax
from traindx.trials.editing import Evidence
from traindx.trials.setting import Setting

_ATTENTION = "scaled_dot_product_attention"
_WEIGHTS = ("att", "attn", "scores", "weights", "wei", "logits")  # what attention weights are called


def edit(module: cst.Module, setting: Setting, evidence: Evidence) -> cst.Module | None:
    """One place only: with two attentions it is not certain that both are to be masked."""
    calls = [call for call in syntax.calls_in(module) if syntax.called(call) == _ATTENTION]
    if len(calls) == 1 and not any(syntax.argument(calls[0], name) for name in ("is_causal", "attn_mask")):
        return syntax.rewrite_calls(
            module,
            lambda call: (
                syntax.with_argument(call, "is_causal", cst.Name("True")) if call.deep_equals(calls[0]) else None
            ),
        )
    lines = [
        line for line in m.findall(module, m.SimpleStatementLine())
        if isinstance(line, cst.SimpleStatementLine) and _weights(line)
    ]  # fmt: skip
    if calls or len(lines) != 1:
        return None
    name = _weights(lines[0])
    code = f'{name} = {name}.masked_fill(torch.ones_like({name}, dtype=torch.bool).triu(1), float("-inf"))'
    return syntax.insert(module, lambda line: line is lines[0], before=[code])


def _weights(line: cst.SimpleStatementLine) -> str:
    """The name of the scores in `att = F.softmax(att, dim=-1)`, or ''."""
    for part in line.body:
        if (
            not isinstance(part, cst.Assign)
            or syntax.called(part.value) != "softmax"
            or not isinstance(part.value, cst.Call)
        ):
            continue
        call = part.value
        function = isinstance(call.func, cst.Attribute) and syntax.dotted(call.func.value) in (
            "F",
            "torch",
            "nn.functional",
            "torch.nn.functional",
        )
        dim = syntax.argument(call, "dim", 1) if function else None
        name = syntax.last_name(call.args[0].value) if call.args and isinstance(call.args[0].value, cst.Name) else ""
        if dim is not None and syntax.number_of(dim.value) == -1 and name.startswith(_WEIGHTS):
            return name
    return ""
