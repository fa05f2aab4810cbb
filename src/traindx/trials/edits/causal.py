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
    here = [line for line in syntax.statements_at(module, evidence.line("causal-mask-missing")) if _scores(line)]
    lines = here or [
        line for line in m.findall(module, m.SimpleStatementLine())
        if isinstance(line, cst.SimpleStatementLine) and _scores(line).startswith(_WEIGHTS)
    ]  # fmt: skip
    if calls or len(lines) != 1:
        return None
    name = _scores(lines[0])
    code = f'{name} = {name}.masked_fill(torch.ones_like({name}, dtype=torch.bool).triu(1), float("-inf"))'
    return syntax.insert(module, lambda line: line is lines[0], before=[code])


def _scores(line: cst.SimpleStatementLine) -> str:
    """The name of the scores in `att = F.softmax(att, dim=-1)` or `w = s.softmax(-1)`, or ''."""
    for call in syntax.calls_in(line):
        if syntax.called(call) != "softmax" or not isinstance(call.func, cst.Attribute):
            continue
        owner = call.func.value
        function = syntax.dotted(owner) in ("F", "torch", "nn.functional", "torch.nn.functional")
        dim = syntax.argument(call, "dim", 1 if function else 0)
        scores = call.args[0].value if function and call.args else owner
        if dim is not None and syntax.number_of(dim.value) == -1 and isinstance(scores, cst.Name):
            return scores.value
    return ""
