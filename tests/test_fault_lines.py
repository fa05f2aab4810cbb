"""The line of a cause: what is declared exists, and the source alone is read right."""

from __future__ import annotations

from pathlib import Path

import pytest

from traindx.causes import causes
from traindx.lines import line_of
from traindx.lines.finders import FINDERS
from traindx.lines.length import length_of
from traindx.lines.look import Look
from traindx.live.measures.statements import statements_of
from traindx.measurements import (
    BatchVariety,
    ClearedGradients,
    ClippedGradients,
    FirstNonFinite,
    Measured,
    Measurement,
    Operation,
    Provenance,
    SourceFile,
    Step,
    UnheldParameters,
)

SCRIPT = """\
import argparse
parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float, default=0.1)
args = parser.parse_args()
for name, p in model.named_parameters():
    p.requires_grad = False
nn.init.constant_(layer.bias, -2.0)
optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, weight_decay=5.0)
X, y = load()
X_train, X_val = X[:80], X[:80]
for epoch in range(3):
    for x, t in loader:
        loss = F.mse_loss(model(x), t, reduction="sum")
        loss.backward()
        optimizer.step()
"""


@pytest.fixture
def measured(tmp_path: Path) -> Measured:
    path = tmp_path / "train.py"
    path.write_text(SCRIPT)
    found = Measured([SourceFile(statements=statements_of(str(path)), where="train.py")])
    found.add(Provenance(where="loss", steps=(Step("train.py:13", "mse_loss", (), grad=True),), at="train.py:14"))
    return found


def test_every_way_a_cause_declares_is_there() -> None:
    assert {way for cause in causes().values() for way in cause.line} <= set(FINDERS)


@pytest.mark.parametrize(
    ("way", "line"),
    [
        ("setting lr", 3), ("frozen", 6), ("constant-biases", 7), ("setting weight_decay", 8), ("reduction", 13),
        ("backward", 14), ("loop", 12), ("outer-loop", 11), ("optimizer", 8),
    ],
)  # fmt: skip
def test_a_line_is_found_in_the_structure_of_the_source(measured: Measured, way: str, line: int) -> None:
    assert line_of([way], [measured]) == f"train.py:{line}"


def test_nothing_is_named_where_nothing_was_measured() -> None:
    assert all(line_of(cause.line, [Measured()]) is None for cause in causes().values())


def test_the_cut_that_hides_most_parameters_is_the_line() -> None:
    found = Measured()
    for line, hidden in (("a.py:3", 2), ("b.py:7", 6)):
        found.add(Provenance(where="cut", steps=(Step(line, "detach", cut=True),), at=line, hidden=hidden))
    assert line_of(causes()["detached-graph"].line, [found]) == "b.py:7"


def test_the_very_root_is_the_line_and_not_another_power() -> None:
    steps = [Step("a.py:9", "pow", (64,)), Step("a.py:4", "sqrt", (8,)), Step("a.py:3", "sqrt", (64,))]
    found = Measured()
    found.add(Provenance(where="loss", steps=tuple(steps), at="a.py:20"))
    root = Operation("sqrt", elements=64, singular=2)
    found.add(FirstNonFinite(step=0, where="a.py:20", what="gradients", update=1, nonfinite=0, scaled=False, first=(),
                             recent=(), operations=(root,)))  # fmt: skip
    assert line_of(["nonfinite"], [found]) == "a.py:3"


def test_the_shapes_stretch_where_both_first_do() -> None:
    steps = (Step("a.py:7", "sub", (32, 32)), Step("a.py:5", "abs", (32, 32)),
             Step("a.py:4", "sub", (32, 32), stretched=True),
             Step("m.py:2", "add", (9, 9), stretched=True))  # fmt: skip
    found = Measured()
    found.add(Provenance(where="output", steps=steps[3:], at="a.py:10"))
    found.add(Provenance(where="loss", steps=steps, at="a.py:11"))
    assert line_of(["broadcast"], [found]) == "a.py:4"


@pytest.mark.parametrize(("low", "line"), [(0.0, "m.py:2"), (-2.0, "a.py:9")])
def test_probabilities_that_are_written_out_are_the_line(low: float, line: str) -> None:
    found = Measured()
    found.add(Provenance(where="prediction", steps=(Step("m.py:2", "div", (8, 3), low, 1.0),), at="a.py:9"))
    found.add(Provenance(where="loss", steps=(Step("a.py:9", "cross_entropy"),), at="a.py:10"))
    assert line_of(["softmax", "loss"], [found]) == line


def test_an_optimiser_that_goes_uphill_is_the_line_of_a_flipped_sign(tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text(SCRIPT.replace("weight_decay=5.0", "maximize=True"))
    found = Measured([SourceFile(statements=statements_of(str(path)), where="train.py")])
    found.add(Provenance(where="loss", steps=(Step("train.py:13", "mse_loss"),), at="train.py:14"))
    assert line_of(["sign"], [found]) == "train.py:8"


def test_the_generator_that_is_made_in_the_loop_is_the_line(tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text(
        "def draw():\n    g = torch.Generator()\n    g.manual_seed(3)\n    a = 1\n    b = 2\n"
        "    return x[torch.randint(0, 9, (2,), generator=g)]\nfor i in range(9):\n    f(draw()).backward()\n"
    )
    found = Measured([SourceFile(statements=statements_of(str(path)), where="train.py")])
    found.add(BatchVariety(looks=9, distinct=1, span=9, rows=2, data=99, loader=False, fresh=9, seeded=9,
                           seeded_at="train.py:6"))  # fmt: skip
    assert line_of(["repeated-batch"], [found]) == "train.py:3"


def test_a_cut_before_what_its_optimiser_updates_goes_before_one_on_purpose() -> None:
    found = Measured()
    for line, hidden, held in (("gan.py:30", 9, 0), ("gan.py:40", 9, 0), ("gan.py:40", 9, 9)):
        steps = (Step(line, "detach", cut=True),)
        found.add(Provenance(where="cut", steps=steps, at=line, hidden=hidden, held=held))
    assert line_of(causes()["detached-graph"].line, [found]) == "gan.py:40"


SEVERAL = """\
def set_seed(seed):
    torch.manual_seed(seed)

w = torch.ones(3, 4)
params = [w.requires_grad_()]
for step in range(99):
    set_seed(1)
    x = tokens[at : at + 8]
    y = tokens[at : at + 8]
    a = f(x)
    a.backward()
    opt_a.step()
    b = F.cross_entropy(g(x).flatten(0, 1), y.flatten())
    b.backward()
    opt_b.step()
"""


@pytest.mark.parametrize(
    ("way", "line"), [("repeated-batch", 7), ("constant-weights", 4), ("uncleared", 11), ("target-piece", 9)]
)
def test_a_line_is_found_where_the_loop_comes_by_it(tmp_path: Path, way: str, line: int) -> None:
    (tmp_path / "t.py").write_text(SEVERAL)
    found = Measured([SourceFile(statements=statements_of(str(tmp_path / "t.py")), where="t.py")])
    found.add(Provenance(where="loss", steps=(Step("t.py:13", "cross_entropy", (), grad=True),), at="t.py:14"))
    found.add(Provenance(where="input", steps=(Step("t.py:8", "__getitem__"),), at="t.py:13"))
    found.add(
        Provenance(where="target", steps=(Step("t.py:13", "flatten"), Step("t.py:9", "__getitem__")), at="t.py:13")
    )
    found.add(ClearedGradients(left_over=9, cleared=0, where="t.py:12"))
    found.add(ClearedGradients(left_over=0, cleared=9, where="t.py:15"))
    found.add(
        BatchVariety(looks=9, distinct=1, span=9, rows=8, data=99, loader=False, fresh=0, slice=False, seeded=9,
                     seeded_at="t.py:2", where="t.py:8")
    )  # fmt: skip
    assert line_of([way], [found]) == f"t.py:{line}"


@pytest.mark.parametrize(
    ("source", "line"),
    [
        ("def on(layer, yes):\n    for p in layer.parameters():\n        p.requires_grad_(yes)\non(head, True)\n"
         "on(body, config.warm)\n", 5),
        ("def on(layer, yes):\n    for p in layer.parameters():\n        p.requires_grad = yes\non(body, warm)\n", 4),
        ("for p in body.parameters():\n    p.requires_grad_()\n", None),
    ],
)  # fmt: skip
def test_what_freezes_is_named_also_where_a_function_is_told_to(tmp_path: Path, source: str, line: int | None) -> None:
    (tmp_path / "t.py").write_text(source)
    found = Measured([SourceFile(statements=statements_of(str(tmp_path / "t.py")), where="t.py")])
    assert line_of(["frozen"], [found]) == (f"t.py:{line}" if line else None)


LAYERS = """\
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.sizes = [4, 8]
        self.first = nn.Linear(4, 8)
        self.blocks = [nn.Linear(8, 8) for _ in range(3)]
opt = torch.optim.SGD(net.parameters(), lr=0.1)
"""
GROWN = """\
class Net(nn.Module):
    def __init__(self):
        self.blocks = []
        for _ in range(3):
            self.blocks.append(nn.Linear(8, 8))
"""
SPLIT = """\
def split(a, b):
    order = rng.permutation(len(a))
    a, b = a[order], b[rng.permutation(len(b))]
    return a, b
for i in torch.randperm(90).split(9):
    F.mse_loss(net(x[i]), y[i]).backward()
"""
COLLATED = """\
def collate(rows):
    xs = sorted([x for x, _ in rows], key=len)
    return xs, [y for _, y in rows]
for x, y in loader:
    f(x, y).backward()
"""
BY_HAND = """\
def update():
    for w in weights:
        w -= 0.1 * w.grad
for x, y in data:
    f(x, y).backward()
    update()
"""
DRAWN = """\
def get_batch(data):
    torch.manual_seed(1)
    start = torch.randint(0, len(data), (8,))
    return data[start]
for step in range(9):
    f(get_batch(train)).backward()
"""
BOUND = """\
settings = {"lr": 0.1, "clip": 0.001}
for x, y in data:
    f(x, y).backward()
    clip_grad_norm_(net.parameters(), settings["clip"])
"""


@pytest.mark.parametrize(
    ("way", "source", "measurement", "line"),
    [
        ("unregistered", LAYERS, UnheldParameters(reached=4, reached_weights=9, unheld=2), 6),
        ("unregistered", GROWN, UnheldParameters(reached=4, reached_weights=9, unheld=2), 3),
        ("unregistered", LAYERS, UnheldParameters(reached=4, reached_weights=9, unheld=2, registered=2), None),
        ("shuffled-apart", SPLIT, None, 3),
        ("shuffled-apart", COLLATED, None, 2),
        ("uncleared", BY_HAND, None, 3),
        ("clip", BOUND,
         ClippedGradients(by="norm", limit=0.001, looks=9, cut=1.0, times=99.0, sgd=True, rate=0.1, where="t.py:4"), 1),
        ("repeated-batch", DRAWN,
         BatchVariety(looks=9, distinct=1, span=9, rows=8, data=99, loader=False, fresh=0, slice=False, seeded=9,
                      seeded_at="t.py:2", where="t.py:6"), 2),
    ],
)  # fmt: skip
def test_the_line_is_where_the_fault_is_made(
    tmp_path: Path, way: str, source: str, measurement: Measurement | None, line: int | None
) -> None:
    (tmp_path / "t.py").write_text(source)
    found = Measured([SourceFile(statements=statements_of(str(tmp_path / "t.py")), where="t.py")])
    if measurement is not None:
        found.add(measurement)
    assert line_of([way], [found]) == (f"t.py:{line}" if line else None)


HELPER = """\
def prepare(x, y, cut):
    held, rest = x[cut:], x[:cut]
    return rest, held
x, held = prepare(*load(), 80)
for i in order:
    f(x[i]).backward()
"""


def test_data_that_a_helper_prepares_comes_from_what_it_returns(tmp_path: Path) -> None:
    (tmp_path / "t.py").write_text(HELPER)
    found = Measured([SourceFile(statements=statements_of(str(tmp_path / "t.py")), where="t.py")])
    found.add(Provenance(where="input", steps=(Step("t.py:6", "__getitem__", source="x"),), at="t.py:6"))
    assert line_of(["input-origin"], [found]) == "t.py:3"


def test_no_text_of_the_program_is_kept(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text('key = "sk-live-0123456789"\nlogin(token="hunter2 and more")\n')
    assert "0123456789" not in str(statements_of(str(tmp_path / "train.py")))
    assert "hunter2" not in str(statements_of(str(tmp_path / "train.py")))


def read_as(tmp_path: Path, source: str) -> Measured:
    path = tmp_path / "train.py"
    path.write_text(source)
    return Measured([SourceFile(statements=statements_of(str(path)), where="train.py")])


@pytest.mark.parametrize(
    ("source", "length"),
    [
        ("steps = 900\nfor i in range(steps):\n    loss(i).backward()\n", ("steps", 900.0)),
        ("s, last = 0, 40\nwhile s < last:\n    loss().backward()\n    s += 1\n", ("last", 40.0)),
        ("for epoch in range(1, args.epochs + 1):\n    for x in data:\n        loss(x).backward()\n",
         ("args.epochs", None)),
        ("n = total // size\nfor update in range(n):\n    for x in data:\n        loss(x).backward()\n", ("n", None)),
        ("def one(x):\n    loss(x).backward()\nfor step in range(300):\n    one(step)\n", ("steps", 300.0)),
        ("for x in data:\n    loss(x).backward()\n", None),
        ("def fit(cfg):\n    for e in range(cfg['epochs']):\n        loss().backward()\n", None),
    ],
)  # fmt: skip
def test_the_length_of_a_training_in_the_words_of_its_script(
    tmp_path: Path, source: str, length: tuple[str, float | None] | None
) -> None:
    assert length_of([read_as(tmp_path, source)]) == length


@pytest.mark.parametrize(
    ("source", "way", "line"),
    [
        ("x_train, x_val = a(), b()\nm = x_train.mean()\nx_train = (x_train - m) / s\n", "held-out-prepared", 3),
        ("table = t(train)\ny_train = f(train, table)\ny_val = f(val, t(val))\n", "held-out-prepared", 3),
        ("y_train = f(train, table)\ny_val = f(val, table)\n", "held-out-prepared", None),
        ("def check():\n    net.eval()\nnet.train()\nfor e in range(3):\n    for x in data:\n"
         "        loss(x).backward()\n    check()\n", "in-eval", 3),
        ("def check():\n    net.eval()\nfor e in range(3):\n    for x in data:\n        loss(x).backward()\n"
         "    check()\n", "in-eval", 3),
        ("def make():\n    net.eval()\nmake()\nfor x in data:\n    loss(x).backward()\n", "in-eval", 2),
    ],
)  # fmt: skip
def test_a_line_that_is_missing_is_named_where_it_belongs(
    tmp_path: Path, source: str, way: str, line: int | None
) -> None:
    assert FINDERS[way](Look(read_as(tmp_path, source))) == (line and f"train.py:{line}")
