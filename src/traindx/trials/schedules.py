"""Adding a learning-rate schedule to a script that has none."""

from __future__ import annotations

import libcst as cst
import libcst.matchers as m

from traindx.trials import syntax


def with_schedule(module: cst.Module, schedule: str) -> cst.Module | None:
    """`schedule`: the call that makes it, with {optimizer} in it. It is stepped after every update."""
    if any(syntax.called(call).endswith(("LR", "Restarts")) for call in syntax.calls_in(module)):
        return None
    made = [
        node
        for node in m.findall(module, m.Assign())
        if isinstance(node, cst.Assign)
        and len(node.targets) == 1
        and isinstance(node.value, cst.Call)
        and syntax.is_optimizer(node.value)
    ]
    name = syntax.dotted(made[0].targets[0].target) if len(made) == 1 else ""
    if not name or not m.findall(
        module, m.Import(names=[m.ZeroOrMore(), m.ImportAlias(name=m.Name("torch")), m.ZeroOrMore()])
    ):
        return None
    scheduler = f"{name.rpartition('.')[0]}.scheduler".lstrip(".")

    def steps(line: cst.SimpleStatementLine) -> bool:
        return any(
            isinstance(call.func, cst.Attribute)
            and call.func.attr.value == "step"
            and syntax.dotted(call.func.value) == name
            for call in syntax.calls_in(line)
        )

    built = syntax.insert(
        module,
        lambda line: any(part is made[0] for part in line.body),
        after=[f"{scheduler} = {schedule.format(optimizer=name)}"],
    )
    return None if built is None else syntax.insert(built, steps, after=[f"{scheduler}.step()"])
