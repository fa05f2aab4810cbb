"""The ways to find the line of a cause, by the name that causes declare. Each takes what was measured and gives
file:line, or None where nothing can be named."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator

from traindx.lines.look import Line, Look, as_place, step_place, through_reshapes
from traindx.lines.pairs import about, is_held_out
from traindx.measurements import (
    COLLECTION,
    BackwardPasses,
    BatchVariety,
    ClearedGradients,
    ClippedGradients,
    FirstNonFinite,
    GradientsAtUpdate,
    LossCall,
    OptimizerGradients,
    Provenance,
    RebuiltOptimizers,
    Step,
    UnheldParameters,
    ValueAt,
)

Finder = Callable[[Look], "str | None"]
_SETTINGS = {
    "lr": ("lr", "learning_rate", "base_lr", "max_lr", "LR", "LEARNING_RATE", "init_lr", "learningRate", "rate"),
    "momentum": ("momentum", "beta1", "betas"),
    "weight_decay": ("weight_decay", "wd", "l2", "WEIGHT_DECAY", "decay"),
    "batch_size": ("batch_size", "bs", "BATCH_SIZE", "BATCH", "train_batch_size", "batch",
                   "per_device_train_batch_size"),
    "epochs": ("epochs", "num_epochs", "n_epochs", "EPOCHS", "max_epochs", "num_train_epochs", "max_iters", "max_steps",
               "steps", "n_steps", "NUM_EPOCHS"),
    "workers": ("num_workers", "workers"),
    "clip": ("max_grad_norm", "max_norm", "clip_grad_norm", "grad_clip", "clip_norm", "gradient_clip_val",
             "clip_value", "clip", "CLIP", "MAX_GRAD_NORM", "GRAD_CLIP"),
}  # fmt: skip
_OPTIMIZERS = ("SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "LBFGS", "NAdam", "RAdam", "Adadelta", "Adamax")
_CONSTANTS = ("constant_", "zeros_", "ones_", "fill_", "zero_", "full_")
_FILLED = ("ones", "full", "zeros", "zeros_like")
_RANDOM = ("normal_", "uniform_", "trunc_normal_", "xavier_normal_", "xavier_uniform_", "kaiming_normal_", "mul_",
           "kaiming_uniform_", "orthogonal_", "randn", "rand", "normal")  # fmt: skip
_LOSS_OPERATIONS = ("cross_entropy", "nll_loss", "mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "kl_div",
                    "binary_cross_entropy", "binary_cross_entropy_with_logits", "ctc_loss")  # fmt: skip
_SHUFFLES = (
    "randperm",
    "permutation",
    "shuffle",
    "roll",
    "flip",
    "permuted",
    "sample",
    "flipud",
    "argsort",
    "sort",
    "sorted",
)
_OPERATORS = frozenset({"Add", "Sub", "Mult", "Div", "FloorDiv", "Mod", "Pow", "MatMult", "USub", "Not", "Invert"})
MOST_CALLS = 3  # between the loop and what it does
_READS = ("sleep", "open", "imread", "load", "read", "read_csv", "urlopen", "get", "loadtxt", "resize")
# what takes a piece of a tensor, or puts pieces together
_PIECES = (
    "__getitem__",
    "getitem",
    "narrow",
    "select",
    "stack",
    "cat",
    "roll",
    "clone",
    "index_select",
    "split",
    "chunk",
)
_SEEDING = ("manual_seed", "seed", "Generator", "default_rng", "RandomState", "Random")
_PER_SAMPLE = ("__getitem__", "__iter__", "collate_fn", "collate")
_HELD_OUT = re.compile(r"(^|_|\.)(val|valid|validation|test|dev|eval|va|te|ts|held|holdout)(_|$|\d|\.)|val$", re.I)
_TRAINED = re.compile(r"(^|_|\.)(train|tr|training)(_|$|\d|\.)|train", re.IGNORECASE)
_LABELS = re.compile(r"(^|_|\.)(target|targets|label|labels|y|yb|t|tgt|yy|y_?\w*)$", re.IGNORECASE)


# --- the chains of tensors --------------------------------------------------------------------------------------------


def cut(look: Look) -> str | None:
    """Where the gradient stops: the operation that hides most of what the optimiser of its step is to update."""
    found = [one for one in look.measured.all(Provenance) if one.where == "cut" and one.steps]
    most = max(found, key=lambda one: (one.held, one.hidden), default=None)
    return most.steps[0].line or None if most is not None else None


def _made_by(*operations: str) -> Finder:
    """The operation that made what the loss is given, seen through reshapes."""

    def find(look: Look) -> str | None:
        last = None
        for name in ("prediction", "output"):
            for step in through_reshapes(look.steps(name)):
                last = last or (step if _squashes_by_hand(step) else None)
                if step.operation.strip("_") in operations:
                    return step_place(step)
        if last is not None:
            return step_place(last)
        if look.chain("prediction") is None:  # a loss that is written out
            return next((step_place(step) for step in look.steps("loss") if step.operation in operations), None)
        return None

    return find


def _squashes_by_hand(step: Step) -> bool:
    """`e / e.sum(1, keepdim=True)`, `1 / (1 + exp(-x))`: a quotient, all of it between zero and one."""
    quotient = step.operation.strip("_") in ("div", "truediv", "true_divide", "rtruediv", "rdiv", "reciprocal")
    return quotient and step.low is not None and step.high is not None and step.low >= 0 and step.high <= 1


def _inside(*operations: str) -> Finder:
    """The first of these operations in the model, nearest to the data."""

    def find(look: Look) -> str | None:
        steps = [step for step in look.steps("output", "loss") if step.operation.strip("_") in operations]
        return step_place(steps[-1]) if steps else None

    return find


def last_layer(look: Look) -> str | None:
    """What made the prediction."""
    steps = list(through_reshapes(look.steps("prediction", "output")))
    return steps[-1].line or None if steps else None


def loss_call(look: Look) -> str | None:
    """The call of the loss function."""
    for step in look.steps("loss"):
        if step.operation in _LOSS_OPERATIONS:
            return step.line or None
    calls = look.measured.latest(LossCall)
    if calls and as_place(calls[0].where):
        return calls[0].where
    return _written_out(look)


def _written_out(look: Look) -> str | None:
    """A loss that is written out: the operation nearest to the loss that takes prediction and target together."""
    for step in look.steps("loss"):
        if step.operation in ("sub", "__sub__", "rsub", "__rsub__", "pow", "__pow__", "mean", "sum"):
            return step.line or None
    return None


def loss_built(look: Look) -> str | None:
    """The construction of the loss function where it is an object, else its call."""
    built = [line for line in look.lines if any(name.endswith("Loss") and name[0].isupper() for name in line.calls)]
    named = [line for line in built if line.statement.kind in ("assign", "annassign")]
    if len(named) == 1:
        return named[0].place
    return loss_call(look)


def broadcast(look: Look) -> str | None:
    """Where two shapes are stretched to a larger one between the model and the loss; else the loss function's call."""
    inside = {(step.line, step.operation) for step in look.steps("output")}
    stretched = [step for step in look.steps("loss") if step.stretched and (step.line, step.operation) not in inside]
    if stretched:
        return stretched[-1].line or None  # the farthest from the loss: what follows has that shape already
    for step in look.steps("loss"):
        if step.operation.strip("_") in ("sub", "rsub", "add", "mul", "eq") and len(step.shape) >= 2:
            return step.line or None
        if step.operation in _LOSS_OPERATIONS:
            return step.line or None
    return loss_call(look)


def sign(look: Look) -> str | None:
    """Where a minus stands between the error and what is differentiated, or the optimiser that goes uphill."""
    for line, value in _values(look):
        if value.name == "maximize" and value.value is True:
            return line.at(value.line)
    for step in look.steps("loss"):
        operation = step.operation.strip("_")
        negative = operation in ("neg", "negative", "rsub") or (
            operation in ("mul", "div", "rmul", "truediv") and step.constant is not None and step.constant < 0
        )
        if negative:
            return step.line or None
        if operation in _LOSS_OPERATIONS:
            break
    return (look.steps("loss")[0].line if look.steps("loss") else "") or backward(look)


def reduction(look: Look) -> str | None:
    """reduction="sum" in the source, or a sum on the way to the loss."""
    for line, value in _values(look):
        if value.name in ("reduction", "size_average") and value.value in ("sum", False):
            return line.at(value.line)
    for step in look.steps("loss"):
        if step.operation == "sum":
            return step.line or None
    return loss_call(look)


def attention(look: Look) -> str | None:
    """Where scores of positions become weights."""
    for step in reversed(look.steps("output", "prediction", "loss")):
        square = len(step.shape) >= 3 and step.shape[-1] == step.shape[-2]
        if step.operation == "scaled_dot_product_attention" or (step.operation.endswith("softmax") and square):
            return step.line or None
    return None


def nonfinite(look: Look) -> str | None:
    """Where the first NaN or Inf was made."""
    first = look.measured.last(FirstNonFinite)
    if first is None:
        return None
    if first.data is not None and first.data.made_by is not None:
        return as_place(first.data.made_by.line)
    for operation in first.operations:
        if as_place(operation.line):
            return operation.line
    if first.reach is not None and as_place(first.reach.line):
        return first.reach.line
    kinds = [operation.name for operation in first.operations] or list(first.reach.suspects if first.reach else ())
    steps = [step for step in look.steps("loss") if _is_kind(step, kinds)]
    sizes = {operation.elements for operation in first.operations}
    # the very operation, on as many numbers, before those that do the same by another name
    steps.sort(key=lambda step: (step.operation.strip("_") not in kinds, math.prod(step.shape) not in sizes))
    return steps[0].line or None if steps else None


def _is_kind(step: Step, kinds: list[str]) -> bool:
    alike = {
        "log": ("log", "log2", "log10", "log1p"),
        "division": ("div", "truediv", "true_divide", "rtruediv", "reciprocal"),
        "sqrt": ("sqrt", "rsqrt", "pow", "norm"), "power": ("pow", "rpow"),
        "reciprocal": ("reciprocal", "truediv", "div"),
        "empty mean": ("mean",), "arc": ("acos", "asin"),
    }  # fmt: skip
    return any(step.operation.strip("_") in alike.get(kind, (kind,)) for kind in kinds)


def shuffled_apart(look: Look) -> str | None:
    """Where the labels are taken in another order than the inputs."""
    inputs = {step.line for step in look.steps("input")}
    for step in look.steps("target"):
        line = look.statement(step.line)
        if line is not None and line.call(*_SHUFFLES) and step.line not in inputs:
            return line.call(*_SHUFFLES)
    for line in look.calling(*_SHUFFLES):
        labels = [name for name in line.statement.stores if _LABELS.search(name)]
        if labels and len(line.statement.stores) == len(labels):
            return line.place
    apart = [line for line in look.calling(*_SHUFFLES) if not _orders_all(look, line)]
    return apart[-1].call(*_SHUFFLES) if apart else None


def _orders_all(look: Look, line: Line) -> bool:
    """A shuffle of the training loop, or an order that is drawn once and taken by inputs and labels alike."""
    if look.in_training(line) or line.place == loop(look):
        return True
    taken = [
        one for one in look.lines
        if one.statement.scope == line.statement.scope and one.file == line.file and one is not line
        and set(line.statement.stores) & set(one.statement.loads)
    ]  # fmt: skip
    return len(taken) > 1 and not line.call("sorted", "roll", "flip", "flipud")


def target(look: Look) -> str | None:
    """Where the target was last made from something else."""
    steps = look.steps("target")
    for step in steps:
        line = look.statement(step.line)
        if line is not None and line.statement.kind in ("assign", "return", "annassign"):
            return step.line
    return steps[0].line or None if steps else None


def target_piece(look: Look) -> str | None:
    """Where the target is cut out of the tokens; the call of the loss where that is given the input itself."""
    inputs = {step.line for step in look.steps("input") if step.operation in _PIECES}
    loss = loss_call(look)
    found = [step.line for step in look.steps("target") if step.operation in _PIECES and step.line not in ("", loss)]
    apart = [line for line in found if line not in inputs]
    return next(iter((*apart, *found)), None)


# --- places that were measured ----------------------------------------------------------------------------------------


def optimizer(look: Look) -> str | None:
    """Where the optimiser was built."""
    for built in look.measured.latest(OptimizerGradients):
        if as_place(built.where):
            return built.where
    unheld = look.measured.last(UnheldParameters)
    if unheld is not None and as_place(unheld.built_at):
        return unheld.built_at
    return next((line.call(*_OPTIMIZERS) for line in look.calling(*_OPTIMIZERS)), None)


def unregistered(look: Look) -> str | None:
    """Where a model keeps layers in a plain list or dictionary, which it does not know of."""
    unheld = look.measured.last(UnheldParameters)
    if unheld is None or not unheld.unheld or unheld.registered:
        return None
    for line, value in _values(look):
        held = value.value == COLLECTION and value.call == "=" and f"self.{value.name}" in line.statement.stores
        if held and (_makes_layers(line) or any(map(_makes_layers, _adding_to(look, f"self.{value.name}")))):
            return line.at(value.line)
    return None


def _makes_layers(line: Line) -> bool:
    return any(name[:1].isupper() and name not in _OPERATORS for name in line.calls)


def _adding_to(look: Look, name: str) -> Iterator[Line]:
    wanted = {f"{name}.append", f"{name}.extend", f"{name}.insert"}
    return (line for line in look.lines if any(call.name in wanted for call in line.statement.calls))


def backward(look: Look) -> str | None:
    return look.backward.place if look.backward is not None else None


def uncleared(look: Look) -> str | None:
    """The backward pass that adds to what is left, before the update of the optimiser that is not cleared."""
    for one in look.measured.latest(ClearedGradients):
        update = look.statement(one.where) if one.left_over > one.cleared else None
        if update is None:
            continue
        before = [
            line
            for line in look.calling("backward")
            if line.file == update.file
            and line.statement.scope == update.statement.scope
            and line.statement.line <= update.statement.line
        ]
        if before:
            return before[-1].place
    return _by_hand(look) or backward(look)


def _by_hand(look: Look) -> str | None:
    """The last statement that changes weights by their gradients, where no optimiser of torch does."""
    if any(look.calling(*_OPTIMIZERS)):
        return None
    changing = [
        line
        for line in look.lines
        if any(name.endswith(".grad") for name in line.statement.loads)
        and (line.statement.kind == "augassign" or line.call("sub_", "add_", "copy_", "Sub"))
    ]
    return changing[-1].place if changing else None


def accumulation(look: Look) -> str | None:
    found = [one.where for one in look.measured.all(BackwardPasses) if as_place(one.where)]
    return found[-1] if found else backward(look)


def clearing(look: Look) -> str | None:
    found = [one.where for one in look.measured.all(GradientsAtUpdate) if as_place(one.where)]
    return found[-1] if found else None


def rebuilt(look: Look) -> str | None:
    found = look.measured.last(RebuiltOptimizers)
    return as_place(found.where) if found is not None else None


def clip(look: Look) -> str | None:
    """The number that bounds the gradients, else the call that is given it."""
    found = look.measured.last(ClippedGradients)
    place = as_place(found.where) if found is not None else None
    call = look.statement(place)
    if call is None or any(isinstance(value.value, int | float) for value in call.statement.values):
        return place
    return _setting("clip")(look) or place


def repeated_batch(look: Look) -> str | None:
    """Where the same random numbers are drawn again, or where the batch is taken."""
    seen = look.measured.last(BatchVariety)
    if seen is None:
        return None
    if as_place(seen.seeded_at):
        return _called_in_training(look, _generator_of(look, seen.seeded_at) or seen.seeded_at)
    steps = look.steps("input")
    return (steps[0].line if steps else None) or as_place(seen.where)


def _generator_of(look: Look, place: str) -> str | None:
    """Where the generator that a line draws from is made or seeded: the last such statement before it."""
    draw = look.statement(place)
    if draw is None or draw.call(*_SEEDING):
        return None
    before = [
        line for line in look.calling(*_SEEDING)
        if line.file == draw.file and line.statement.scope == draw.statement.scope
        and line.statement.line < draw.statement.line
        and set(draw.statement.loads) & {*line.statement.stores, *(name.partition(".")[0] for name in line.owners)}
    ]  # fmt: skip
    return before[-1].place if before else None


def _called_in_training(look: Look, place: str) -> str:
    """Where the loop that trains comes by a line: the line itself, or the call of the function it stands in."""
    line = look.statement(place)
    if line is None:  # in a file of which nothing is known: the loop calls it by a name that says so
        seeding = [one for one in look.lines if look.in_training(one) and any("seed" in name for name in one.calls)]
        return seeding[0].place if len(seeding) == 1 else place
    for _ in range(MOST_CALLS):
        if line is None or look.in_training(line) or not line.statement.scope or not _only_seeds(look, line):
            return place
        function = line.statement.scope.rpartition(".")[2]
        callers = [one for one in look.calling(function) if one.statement.scope != line.statement.scope]
        line = next((one for one in callers if look.in_training(one)), callers[0] if len(callers) == 1 else None)
        if line is not None and look.in_training(line):
            return line.call(function) or place
    return place


def _only_seeds(look: Look, line: Line) -> bool:
    """Whether the function around a line does nothing but seed, so that its call is the one to change."""
    if "seed" in line.statement.scope.rpartition(".")[2].lower():
        return True
    own = [one for one in look.lines if one.file == line.file and one.statement.scope == line.statement.scope]
    return all("seed" in name for one in own for name in one.calls)


def symptom(look: Look) -> str | None:
    """The place that a symptom of the cause names."""
    return next((observation.where for observation in look.seen if as_place(observation.where)), None)


# --- the structure of the source --------------------------------------------------------------------------------------


RESET = "spike-at-rate-change"


def _values(look: Look) -> Iterator[tuple[Line, ValueAt]]:
    return ((line, value) for line in look.lines for value in line.statement.values)


def _setting(name: str) -> Finder:
    """Where a number stands: in the call of the optimiser, else where the name it is given is bound to one."""
    names = _SETTINGS[name]

    def find(look: Look) -> str | None:
        if name == "lr" and any(symptom.id == RESET for symptom in look.seen):
            return None  # the rate was set anew on the way: the line of the first one is not to blame
        built = look.statement(optimizer(look)) if name in ("lr", "momentum", "weight_decay") else None
        if built is not None:
            for value in built.statement.values:
                wanted = value.name in names or (name == "lr" and value.name == "1" and value.call in _OPTIMIZERS)
                if wanted and value.call not in ("def", "add_argument"):
                    return built.at(value.line)
        found = [
            (line, value)
            for line, value in _values(look)
            if value.name in names and isinstance(value.value, int | float) and not isinstance(value.value, bool)
        ]
        if found:
            line, value = min(found, key=lambda pair: names.index(pair[1].name))
            return line.at(value.line)
        return built.place if built is not None else None

    return find


def loop(look: Look) -> str | None:
    """The head of the loop that trains."""
    if look.backward is None or look.loop is None:
        return None
    return look.backward.at(look.loop)


def outer_loop(look: Look) -> str | None:
    if look.backward is None or not look.backward.statement.loops:
        return None
    return look.backward.at(look.backward.statement.loops[0])


def frozen(look: Look) -> str | None:
    """Where requires_grad is set to False; where a function sets it to what it is given, the call that gives it."""
    for line, value in _values(look):
        off = value.value is False and (
            value.name == "requires_grad" or (value.call == "requires_grad_" and value.name in ("0", "requires_grad"))
        )
        if off:
            return line.at(value.line)
    helpers = {line.statement.scope.rpartition(".")[2] for line in look.lines if _sets_by_variable(line)} - {""}
    calls = [line for line in look.calling(*helpers) if not _all_true(line)] if helpers else []
    return calls[-1].call(*helpers) if calls else None


def _sets_by_variable(line: Line) -> bool:
    """requires_grad becomes what a variable says."""
    plain = {value.name for value in line.statement.values if value.call in ("requires_grad_", "=")}
    called = line.call("requires_grad_") is not None and not plain & {"0", "requires_grad"}
    given = called and len({name for name in line.statement.loads if "." not in name}) > 1
    stored = any(name.endswith(".requires_grad") for name in line.statement.stores)
    return given or (stored and "requires_grad" not in plain)


def _all_true(line: Line) -> bool:
    flags = [value.value for value in line.statement.values if isinstance(value.value, bool)]
    return bool(flags) and all(flags)


def _started_by(words: tuple[str, ...], about: str) -> Finder:
    """An initialisation in the user's code; of weights or of biases first."""

    def find(look: Look) -> str | None:
        found = [line for line in look.calling(*words) if not look.in_training(line)]
        found = found or [
            line for line in look.calling(*_FILLED) if words is _CONSTANTS and _becomes_parameter(look, line)
        ]
        named = [line for line in found if any(about in name for name in line.statement.loads)]
        chosen = named or found
        return chosen[0].call(*words, *_FILLED) if chosen else None

    return find


def _becomes_parameter(look: Look, line: Line) -> bool:
    """Whether what a statement makes is trained: there, or later in its function."""
    for other in look.lines:
        near = other.file == line.file and other.statement.scope == line.statement.scope
        later = near and other.statement.line >= line.statement.line
        if later and other.call("requires_grad_", "Parameter", "register_parameter"):
            trained = {name.partition(".")[0] for name in other.statement.loads}
            if other is line or trained & set(line.statement.stores):
                return True
    return any(value.name == "requires_grad" and value.value is True for value in line.statement.values)


def in_eval(look: Look) -> str | None:
    """Where the model is put into evaluation mode in the code that trains it."""
    calls = [line for line in look.calling("eval") if not any(c.name == ".eval" for c in line.statement.calls)]
    around = look.backward.statement.scope if look.backward is not None else ""
    own = [line for line in calls if line.statement.scope == around]
    for line in (*[one for one in own if look.in_training(one)], *own):
        return line.call("eval")
    if not calls or not any(_around_training(look, line) for line in calls):
        return calls[0].call("eval") if calls else None
    # what evaluates is right to do so: nothing puts the model back before the next pass over the training data
    assert look.backward is not None
    outer = set(look.backward.statement.loops)
    once = [
        one for one in look.calling("train") if one.statement.scope == around and not outer & set(one.statement.loops)
    ]
    return once[-1].call("train") if once else outer_loop(look)


def _around_training(look: Look, line: Line) -> bool:
    """Whether the function of a statement is called in a loop that trains."""
    function = line.statement.scope.rpartition(".")[2]
    loops = set(look.backward.statement.loops) if look.backward is not None else set()
    return bool(function) and any(
        one.file == look.backward.file and loops & set(one.statement.loops)
        for one in look.calling(function)
        if look.backward is not None
    )


def without_eval(look: Look) -> str | None:
    """Where an evaluation begins that does not call eval()."""
    heads = [line for line in look.lines if {"no_grad", "inference_mode"} & set(line.calls)] + [
        line
        for line in look.lines
        if line.statement.kind in ("with", "def")
        and any(name.endswith((".no_grad", ".inference_mode")) for name in line.statement.loads)
    ]
    scopes = {line.statement.scope for line in look.calling("eval")}
    for line in heads:
        scope = line.statement.scope
        if line.statement.kind == "def":
            inner = f"{scope}.{line.statement.stores[0]}" if scope and line.statement.stores else ""
            scope = inner or scope
        train = [one for one in look.calling("train") if one.statement.scope == scope and scope]
        if train and not look.in_training(train[0]):
            return train[0].call("train")
        if scope not in scopes or not scope:
            return _function_head(look, line) or line.place
    return next((line.call("train") for line in look.calling("train") if _HELD_OUT.search(line.statement.scope)), None)


def _function_head(look: Look, line: Line) -> str | None:
    """The `def` around a statement."""
    if not line.statement.scope or look.in_training(line):
        return None
    before = [
        one
        for one in look.lines
        if one.file == line.file and one.statement.kind == "def" and one.statement.line <= line.statement.line
    ]
    return before[-1].place if before else None


def loader(look: Look) -> str | None:
    """Where the training loader is built: the one that the training loop draws from."""
    loaders = list(look.calling("DataLoader"))
    head = look.statement(loop(look))
    drawn = set(head.statement.loads) if head is not None else set()
    drawn |= {name.rpartition(".")[2] for name in drawn}
    own = [line for line in loaders if drawn & {name.rpartition(".")[2] for name in line.statement.stores}]
    trained = [line for line in loaders if any(_TRAINED.search(name) for name in line.statement.stores)]
    for line in (*own, *trained, *loaders):
        return line.call("DataLoader")
    return loop(look)


def half(look: Look) -> str | None:
    """Where numbers of half the width come in."""
    words = ("float16", "half", "bfloat16")
    found = [
        line
        for line in look.lines
        if line.call("half", "bfloat16") or any(name.rpartition(".")[2] in words for name in line.statement.loads)
    ]
    return found[0].place if found else None


def scheduler(look: Look) -> str | None:
    """Where the schedule of the rate is built."""
    for line in look.lines:
        for call in line.statement.calls:
            name = call.name.rpartition(".")[2]
            schedules = name.endswith(("LR", "Scheduler")) or (name.startswith("get_") and "schedule" in name)
            if schedules and name != "LR":
                return line.at(call.line)
    return None


def dropout(look: Look) -> str | None:
    found = [
        (value.value, line.at(value.line))
        for line, value in _values(look)
        if isinstance(value.value, float)
        and (value.call.lower().startswith(("dropout", "alphadropout")) or value.name in ("dropout", "p_drop", "drop"))
    ]
    return max(found)[1] if found else None


def leak(look: Look) -> str | None:
    """Where held-out data is taken from the training data."""
    for line in look.lines:
        if line.statement.kind == "assign" and _sets_held_out(line) and any(map(_TRAINED.search, line.statement.loads)):
            return line.place
    return None


def _sets_held_out(line: Line) -> bool:
    stores = line.statement.stores
    return any(map(_HELD_OUT.search, stores)) and not any(map(_TRAINED.search, stores))


def held_out_prepared(look: Look) -> str | None:
    """Where held-out data is changed: set under its name, or anything in a function that evaluates."""
    changing = {"Div", "Sub", "Mult", "Add", "normalize", "Normalize", "transform", "Compose", "Mod", "roll"}
    for line in look.lines:
        evaluates = _sets_held_out(line) or bool(_HELD_OUT.search(line.statement.scope))
        if line.statement.kind in ("assign", "augassign") and changing & set(line.calls) and evaluates:
            return line.place
    return _called_otherwise(look) or _prepared_alone(look)


def _pairs(look: Look) -> Iterator[tuple[Line, Line]]:
    """Statements that set held-out data, with those of their function that set the same of the training data."""
    sets = [line for line in look.lines if line.statement.kind == "assign" and line.statement.stores]
    for held in sets:  # a comprehension sets names as well, behind its own
        for own in sets if is_held_out(held.statement.stores[0]) else ():
            alike = about(own.statement.stores[0]) == about(held.statement.stores[0])
            near = own.file == held.file and own.statement.scope == held.statement.scope
            if alike and near and not is_held_out(own.statement.stores[0]):
                yield held, own


def _called_otherwise(look: Look) -> str | None:
    """`val_y = f(val_rows, g(val_rows))` beside `train_y = f(train_rows, table)`."""
    for held, own in _pairs(look):
        names = [sorted({about(name) for name in line.statement.loads}) for line in (held, own)]
        if set(held.calls[:1]) & set(own.calls[:1]) and names[0] != names[1]:
            return held.place
    return None


def _prepared_alone(look: Look) -> str | None:
    """`x_train = (x_train - mean) / std`, where held-out data of the same name is left as it is."""
    changing = {"Div", "Sub", "Mult", "Add"}
    held = [(line, name) for line in look.lines for name in line.statement.stores if is_held_out(name)]
    for line in look.lines:
        stores = line.statement.stores
        if len(stores) != 1 or is_held_out(stores[0]) or stores[0] not in line.statement.loads:
            continue
        paired = any(
            other.file == line.file
            and other.statement.scope == line.statement.scope
            and about(name) == about(stores[0])
            for other, name in held
        )
        if changing & set(line.calls) and paired and not look.in_training(line):
            return line.place
    return None


def slow_read(look: Look) -> str | None:
    """What a data set does for each sample."""
    inside = [
        line
        for line in look.lines
        if line.statement.scope.endswith(("__getitem__", "__iter__", "collate_fn", "collate"))
    ]
    for line in inside:
        if line.call(*_READS):
            return line.call(*_READS)
    return inside[0].place if inside else None


def missing_values(look: Look) -> str | None:
    """Where the source itself writes NaN."""
    for line in look.lines:
        if any(value.value == "nan" for value in line.statement.values) or any(
            name.endswith(".nan") for name in line.statement.loads
        ):
            return line.place
    return None


def input_origin(look: Look) -> str | None:
    return look.origin("input")


def target_origin(look: Look) -> str | None:
    return look.origin("target")


FINDERS: dict[str, Finder] = {
    "cut": cut,
    "softmax": _made_by("softmax", "log_softmax"),
    "sigmoid": _made_by("sigmoid", "softmax"),
    "squashed": _made_by("sigmoid", "tanh", "softmax", "hardtanh", "clamp", "softsign"),
    "relu": _made_by("relu", "leaky_relu", "softplus", "elu", "clamp", "threshold"),
    "hidden-squash": _inside("sigmoid", "tanh"),
    "hidden-relu": _inside("relu"),
    "hidden-layer": _inside("linear", "conv2d", "conv1d", "matmul", "addmm"),
    "last-layer": last_layer,
    "loss": loss_call,
    "loss-built": loss_built,
    "broadcast": broadcast,
    "sign": sign,
    "reduction": reduction,
    "attention": attention,
    "nonfinite": nonfinite,
    "shuffled-apart": shuffled_apart,
    "target": target,
    "optimizer": optimizer,
    "unregistered": unregistered,
    "backward": backward,
    "uncleared": uncleared,
    "target-piece": target_piece,
    "accumulation": accumulation,
    "clearing": clearing,
    "rebuilt": rebuilt,
    "clip": clip,
    "repeated-batch": repeated_batch,
    "symptom": symptom,
    **{f"setting {name}": _setting(name) for name in _SETTINGS},
    "loop": loop,
    "outer-loop": outer_loop,
    "frozen": frozen,
    "constant-weights": _started_by(_CONSTANTS, "weight"),
    "constant-biases": _started_by(_CONSTANTS, "bias"),
    "random-weights": _started_by(_RANDOM, "weight"),
    "in-eval": in_eval,
    "without-eval": without_eval,
    "loader": loader,
    "half": half,
    "scheduler": scheduler,
    "dropout": dropout,
    "leak": leak,
    "held-out-prepared": held_out_prepared,
    "slow-read": slow_read,
    "missing-values": missing_values,
    "input-origin": input_origin,
    "target-origin": target_origin,
}
