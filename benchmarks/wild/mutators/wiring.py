"""Faults of what is trained, in which mode, and of how the parts of the model are put together."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst
import libcst.matchers as m

from mutators.base import Find, Mutator, Place, Source

MODULES = re.compile(r"(nn\.)?(ReLU|GELU|Tanh|LeakyReLU|SiLU|ELU)$")


def _parameters(source: Source) -> Iterator[tuple[cst.Call, cst.CSTNode]]:
    """Optimisers that are given `model.parameters()`."""
    for call in source.optimizers():
        first = call.args[0].value
        if m.matches(first, m.Call(func=m.Attribute(attr=m.Name("parameters")), args=[])):
            yield call, first


def frozen(source: Source) -> Iterator[Place]:
    """All but the last two parameters keep their first values."""
    for call, parameters in _parameters(source):
        statement = source.statement(call)
        if statement is not None:
            yield [source.before(statement, f"[p.requires_grad_(False) for p in list({source.text(parameters)})[:-2]]")]


def left_out(source: Source) -> Iterator[Place]:
    for _, parameters in _parameters(source):
        yield [source.replace(parameters, f"list({source.text(parameters)})[-2:]")]


def constant(source: Source) -> Iterator[Place]:
    for call, parameters in _parameters(source):
        statement = source.statement(call)
        if statement is not None:
            yield [
                source.before(
                    statement, f"[__import__('torch').nn.init.constant_(p, 0.01) for p in {source.text(parameters)}]"
                )
            ]


def _scaled_weights(factor: str) -> Find:
    def find(source: Source) -> Iterator[Place]:
        for call, parameters in _parameters(source):
            statement = source.statement(call)
            if statement is not None:
                yield [
                    source.before(
                        statement, f"[p.data.mul_({factor}) for p in {source.text(parameters)} if p.dim() > 1]"
                    )
                ]

    return find


def detached(source: Source) -> Iterator[Place]:
    """Half way through a forward pass the graph is cut."""
    for forward in source.all(m.FunctionDef(name=m.Name("forward"))):
        steps = [
            one
            for one in m.findall(forward, m.Assign(targets=[m.AssignTarget(target=m.Name())], value=m.Call()))
            if "self." in source.text(one.value) and source.text(one.targets[0].target) in source.text(one.value)
        ]
        if len(steps) >= 2:
            middle = sorted(steps, key=lambda step: source.line(step))[len(steps) // 2 - (len(steps) % 2 == 0)]
            yield [source.replace(middle.value, f"({source.text(middle.value)}).detach()")]


def eval_while_training(source: Source) -> Iterator[Place]:
    for call in source.all(m.Call(func=m.Attribute(attr=m.Name("train")), args=[])):
        if source.statement(call) is not None and not source.text(call.func.value).startswith(
            ("self.trainer", "trainer", "agent")
        ):
            yield [source.replace(call, f"{source.text(call.func.value)}.eval()")]


def train_while_evaluating(source: Source) -> Iterator[Place]:
    for call in source.all(m.Call(func=m.Attribute(attr=m.Name("eval")), args=[])):
        yield [source.replace(call, f"{source.text(call.func.value)}.train()")]


def no_activation(source: Source) -> Iterator[Place]:
    """Of every activation in the file."""
    changes = [
        source.replace(call, "__import__('torch').nn.Identity()")
        for call in source.all(m.Call())
        if MODULES.search(source.text(call.func))
    ]
    for call in source.calls("relu", "gelu", "tanh"):
        if (
            len(call.args) >= 1
            and isinstance(call.func, cst.Attribute)
            and source.text(call.func.value) in ("F", "torch", "nn.functional", "torch.nn.functional")
        ):
            changes.append(source.replace(call, f"({source.text(call.args[0].value)})"))
    inner = [
        c
        for c in changes
        if any(o is not c and o.start <= c.start and c.start + c.length <= o.start + o.length for o in changes)
    ]
    if changes:
        yield [change for change in changes if change not in inner]


def more_dropout(source: Source) -> Iterator[Place]:
    places = [
        call.args[0].value
        for call in source.calls("Dropout", "Dropout2d", "dropout")
        if call.args
        and call.args[0].keyword is None
        and isinstance(call.args[0].value, cst.Float | cst.Name | cst.Attribute)
    ]
    if places:
        yield [source.replace(place, "0.95") for place in places if source.text(place) != "x"]


def sees_the_future(source: Source) -> Iterator[Place]:
    causal = m.Arg(keyword=m.Name("is_causal"), value=m.Name("True"))
    for arg in source.all(causal):
        yield [source.replace(arg.value, "False")]
    for call in source.calls("masked_fill"):
        around = source.function(call)
        if isinstance(call.func, cst.Attribute) and ("tril" in source.text(around) or "bias" in source.text(call)):
            yield [source.replace(call, source.text(call.func.value))]
    for call in source.calls("triu", "tril"):
        if source.in_training(call) or "mask" in source.function_name(call):
            yield [
                source.replace(
                    call,
                    f"__import__('torch').zeros_like({source.text(call)})"
                    if source.text(call.func).endswith("triu")
                    else f"__import__('torch').ones_like({source.text(call)})",
                )
            ]


def unnormalised(source: Source) -> Iterator[Place]:
    """The model is given raw numbers: 255 times as large, and not centred."""
    for call in source.calls("Normalize"):
        yield [source.replace(call, f"{source.text(call.func).replace('Normalize', 'Lambda')}(lambda t: t * 255.0)")]
    for loop in source.all(m.For()):
        names = [source.text(name) for name in m.findall(loop.target, m.Name())]
        inputs = [
            name
            for name in names
            if name.lower()
            in ("data", "images", "inputs", "input", "x", "imgs", "image", "xb", "real_images", "features")
        ]
        first = source.first_in(loop)
        if inputs and first is not None and ".backward(" in source.text(loop):
            yield [source.before(first, f"{inputs[0]} = {inputs[0]} * 255.0 + 100.0")]


MUTATORS = (
    Mutator("layers-frozen", "frozen-params", frozen, common=True),
    Mutator("layers-left-out", "params-not-in-optimizer", left_out, common=True),
    Mutator("constant-init", "constant-init", constant, common=True),
    Mutator("init-x30", "init-too-large", _scaled_weights("30.0"), common=True),
    Mutator("init-x0.001", "init-too-small", _scaled_weights("0.001"), also=("vanishing-gradients",), common=True),
    Mutator("graph-cut", "detached-graph", detached),
    Mutator("eval-while-training", "eval-mode-during-training", eval_while_training),
    Mutator("train-while-evaluating", "train-mode-during-eval", train_while_evaluating),
    Mutator("no-activations", "missing-nonlinearity", no_activation),
    Mutator("dropout-0.95", "dropout-too-high", more_dropout),
    Mutator("no-causal-mask", "causal-mask-missing", sees_the_future),
    Mutator("inputs-raw", "inputs-not-normalized", unnormalised),
)  # fmt: skip
