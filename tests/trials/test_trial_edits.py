"""Edits of the source: the least that makes the setting true, in the user's own formatting, or nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from traindx.trials.editing import Evidence, diff_of, edited
from traindx.trials.setting import combined

pytest.importorskip("libcst")

LOOP = """\
import torch

EPOCHS = 3
model = torch.nn.Linear(2, 1)  # the model
opt = torch.optim.SGD(model.parameters(), lr=1.5, momentum=0.9)

for epoch in range(EPOCHS):
    for x, y in data:
        loss = ((model(x) - y) ** 2).mean()
        # now learn
        loss.backward()
        opt.step()
"""


def changed(tmp_path: Path, source: str, setting: str) -> list[str]:
    """The added lines, or nothing where no edit is sure."""
    script = tmp_path / "train.py"
    script.write_text(source)
    edits = edited(tmp_path, script, combined(setting), Evidence({"lr": 0.001}))
    if edits is None:
        return []
    lines = diff_of(tmp_path, edits).splitlines()
    return [line[1:].strip() for line in lines if line.startswith("+") and not line.startswith("+++")]


@pytest.mark.parametrize(
    ("setting", "expected"),
    [
        ("lr=x0.1", ["opt = torch.optim.SGD(model.parameters(), lr=0.15, momentum=0.9)"]),
        ("zero_grad", ["opt.zero_grad()"]),
        ("clip=1.0", ["torch.nn.utils.clip_grad_norm_(model.parameters(), 1)"]),
        ("epochs=x5", ["EPOCHS = 15"]),
        ("optimizer=adamw", ["opt = torch.optim.AdamW(model.parameters(), lr=0.001)"]),
        ("lr=3e-4+optimizer=Adam", ["opt = torch.optim.Adam(model.parameters(), lr=0.0003)"]),
        ("optimizer=rmsprop", ["opt = torch.optim.RMSprop(model.parameters(), lr=0.001, momentum=0.9)"]),
        ("optimizer=sgd", []),
        ("nothing", []),
    ],
)
def test_edits_of_a_plain_loop(tmp_path: Path, setting: str, expected: list[str]) -> None:
    assert changed(tmp_path, LOOP, setting) == expected


def test_a_value_is_changed_where_it_comes_from(tmp_path: Path) -> None:
    parser = LOOP.replace("lr=1.5", "lr=args.lr").replace(
        "EPOCHS = 3", "parser.add_argument('--lr', type=float, default=1.5)\nEPOCHS = 3"
    )
    assert changed(tmp_path, parser, "lr=x0.1") == ["parser.add_argument('--lr', type=float, default=0.15)"]
    constant = LOOP.replace("lr=1.5", "lr=RATE").replace("EPOCHS = 3", "RATE = 3e-2\nEPOCHS = 3")
    assert changed(tmp_path, constant, "lr=x0.1") == ["RATE = 0.003"]


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        ("keras.optimizers.Adam(0.5)", "keras.optimizers.Adam(0.05)"),
        ("Adam(learning_rate=0.5, beta_1=0.8)", "Adam(learning_rate=0.05, beta_1=0.8)"),
    ],
)
def test_keras_takes_the_rate_first(tmp_path: Path, made: str, expected: str) -> None:
    assert changed(tmp_path, f"model.compile({made}, loss)\n", "lr=x0.1") == [f"model.compile({expected}, loss)"]


def test_two_optimizers_are_not_guessed_about(tmp_path: Path) -> None:
    two = LOOP.replace("for epoch", "other = torch.optim.SGD(model.parameters(), lr=1)\nfor epoch")
    assert changed(tmp_path, two, "lr=x0.1") == []


EDITS = {
    "eval_mode": (
        "def check(model, x):\n    with torch.no_grad():\n        return model(x)\n\nmodel.train()\n",
        ["model.eval()"],
    ),
    "train_mode": (
        "for epoch in range(9):\n    for x in data:\n        model(x).sum().backward()\n    model.eval()\n    "
        "model(x)\n",
        ["model.train()"],
    ),
    "logits": (
        "loss_fn = nn.CrossEntropyLoss()\nnet = nn.Sequential(nn.Linear(8, 3), nn.Softmax(dim=1))\n",
        ["net = nn.Sequential(nn.Linear(8, 3))"],
    ),
    "output": (
        "class Net(nn.Module):\n    def forward(self, x):\n        x = self.fc(x)\n        return "
        "torch.relu(x).squeeze(1)\n",
        ["return x.squeeze(1)"],
    ),
    "one_output": (
        "def forward(self, x):\n    return F.softmax(self.out(x), dim=1)\n",
        ["return torch.sigmoid(self.out(x))"],
    ),
    "log_floor": (
        "loss = -(y * torch.log(p) + (1 - y) * (1 - p).log()).mean()\n",
        ["loss = -(y * torch.log(p.clamp(min=1e-07)) + (1 - y) * (1 - p).clamp(min=1e-07).log()).mean()"],
    ),
    "nonlinear": (
        "net = nn.Sequential(\n    nn.Linear(8, 32),\n    nn.Dropout(0.1),\n    nn.Linear(32, 32), nn.Tanh(),\n    "
        "nn.Linear(32, 3),\n)\n",
        ["nn.ReLU(),"],
    ),
    "shift": (
        "def get():\n    x = torch.stack([d[i:i + n] for i in ix])\n    y = torch.stack([d[i:i + n] for i in ix])\n    "
        "return x, y\n",
        ["y = torch.stack([d[i + 1:i + n + 1] for i in ix])"],
    ),
    "attached": ("def forward(self, x):\n    return self.b(self.a(x).detach())\n", ["return self.b(self.a(x))"]),
    "cache": (
        "import time\nclass D(Dataset):\n    def __getitem__(self, i):\n        return read(i)\n",
        ["import functools", "@functools.cache"],
    ),
    "val_scale": (
        "x_tr, x_va = load(1), load(2)\nx_tr = (x_tr - x_tr.mean()) / x_tr.std()\n",
        ["x_va = (x_va - x_tr.mean()) / x_tr.std()"],
    ),
    "val_scale=on": (
        "train_x, test_x = s.fit_transform(load(1)), load(2)\ntest_x = s.fit_transform(test_x)\n",
        ["test_x = s.transform(test_x)"],
    ),
    "val_labels": (
        "names = table(train)\ny_train = number(train, names)\ny_val = number(val, sorted(set(val)))\n",
        ["y_val = number(val, names)"],
    ),
    "sample_sums": (
        "r = F.mse_loss(out, x)\nkl = -0.5 * (1 + v - m.pow(2) - v.exp()).sum(1).mean()\n",
        ['r = F.mse_loss(out, x, reduction="sum") / len(x)'],
    ),
    "sample_sums=on": (
        "kl = -0.5 * torch.sum(1 + v - m ** 2 - v.exp())\nr = F.mse_loss(out, x, reduction='mean')\n",
        ['r = F.mse_loss(out, x, reduction="sum")'],
    ),
    "softmax_dim": ("p = F.log_softmax(x, dim=0)\n", ["p = F.log_softmax(x, dim=1)"]),
    "reduction": ("loss_fn = nn.MSELoss(reduction='sum')\n", ["loss_fn = nn.MSELoss()"]),
    "init=fan_in": (
        "nn.init.zeros_(m.weight)\nnn.init.ones_(m.bias)\n",
        ['nn.init.kaiming_normal_(m.weight, nonlinearity="relu")', "nn.init.zeros_(m.bias)"],
    ),
    "bias=0": ("nn.init.constant_(m.bias, -2.0)\n", ["nn.init.constant_(m.bias, 0)"]),
    "activation=relu": (
        "net = nn.Sequential(nn.Linear(1, 2), nn.Tanh(), nn.Linear(2, 1), nn.Sigmoid())\n",
        ["net = nn.Sequential(nn.Linear(1, 2), nn.ReLU(), nn.Linear(2, 1), nn.Sigmoid())"],
    ),
    "precision=fp32": ("model = model.half()\ny = model(x.to(torch.float16))\n", ["y = model(x)"]),
    "scheduler": (
        "sched = StepLR(opt, 10)\nfor epoch in range(9):\n    for x in data:\n        opt.step()\n        "
        "sched.step()\n",
        ["sched.step()"],
    ),
    "one_optimizer": (
        "for epoch in range(9):\n    opt = torch.optim.Adam(net.parameters())\n    opt.step()\n",
        ["opt = torch.optim.Adam(net.parameters())"],
    ),
    "keep_gradients": (
        "for x in data:\n    loss(x).backward()\n    clip(net)\n    opt.zero_grad()\n    opt.step()\n    sched.step()\n",  # noqa: E501
        ["opt.step()"],
    ),
    "unfreeze": ("for p in model.parameters():\n    p.requires_grad = False\nmodel.fit()\n", []),
    "all_params": (
        "model = Net()\nopt = SGD(model.head.parameters(), lr=1)\nmodel(x)\n",
        ["opt = SGD(model.parameters(), lr=1)"],
    ),
    "weight_decay=x0.01": (
        "opt = torch.optim.AdamW(net.parameters(), weight_decay=5.0)\n",
        ["opt = torch.optim.AdamW(net.parameters(), weight_decay=0.05)"],
    ),
    "batch_size=x4": (
        "for i in range(0, n, 2):\n    loss(order[i:i + 2]).backward()\n",
        ["for i in range(0, n, 8):", "loss(order[i:i + 8]).backward()"],
    ),
    "shuffle": (
        "loader = DataLoader(train_set, batch_size=8)\n",
        ["loader = DataLoader(train_set, batch_size=8, shuffle=True)"],
    ),
    "workers=2": ("loader = DataLoader(s, 8)\n", ["loader = DataLoader(s, 8, num_workers=2, persistent_workers=True)"]),
    "dropout=x0.5": ("drop = nn.Dropout(0.8)\n", ["drop = nn.Dropout(0.4)"]),
    "accumulation": (
        "for i, b in enumerate(loader, 1):\n    loss = f(b)\n    loss.backward()\n    if i % STEPS == 0:\n"
        "        opt.step()\n",
        ["(loss / STEPS).backward()"],
    ),
    "accumulation=on": (
        "for i, b in enumerate(loader):\n    scaler.scale(f(b)).backward()\n    if (i + 1) % 4 == 0:\n"
        "        scaler.step(opt)\n",
        ["scaler.scale(f(b) / 4).backward()"],
    ),
    "unfreeze=on": (
        "def on(layer, yes):\n    for p in layer.parameters():\n        p.requires_grad = yes\n",
        ["p.requires_grad = True"],
    ),
    "each_label": (
        "loss = nn.CrossEntropyLoss()\nheld = F.cross_entropy(z, y)\n",
        ["loss = nn.BCEWithLogitsLoss()", "held = F.binary_cross_entropy_with_logits(z, y)"],
    ),
    "causal": (
        "y = F.scaled_dot_product_attention(q, k, v)\n",
        ["y = F.scaled_dot_product_attention(q, k, v, is_causal=True)"],
    ),
    "warmup=20": (
        "import torch\nopt = torch.optim.Adam(net.parameters())\nopt.step()\n",
        ["scheduler = torch.optim.lr_scheduler.LinearLR(opt, start_factor=0.05, total_iters=20)", "scheduler.step()"],
    ),
}


@pytest.mark.parametrize("setting", EDITS)
def test_an_edit_changes_what_it_should(tmp_path: Path, setting: str) -> None:
    source, expected = EDITS[setting]
    script = tmp_path / "train.py"
    script.write_text(source)
    edits = edited(tmp_path, script, combined(setting), Evidence())
    assert edits is not None
    compile(edits["train.py"], "train.py", "exec")
    assert changed(tmp_path, source, setting) == expected
    assert edited(tmp_path, _written(tmp_path, "pass\n"), combined(setting), Evidence()) is None


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("loss = -torch.log(torch.softmax(z, dim=-1))", "loss = -torch.log_softmax(z, dim=-1)"),
        ("a = F.softmax(z, 1)[rows, y].log()", "a = F.log_softmax(z, 1)[rows, y]"),
        ("a = torch.log(z.softmax(-1).gather(1, y[:, None]))", "a = z.log_softmax(-1).gather(1, y[:, None])"),
        ("a = torch.log(1 - torch.sigmoid(a + b))", "a = torch.nn.functional.logsigmoid(-(a + b))"),
        ("a = F.sigmoid(z).log()", "a = F.logsigmoid(z)"),
        (
            "p = torch.softmax(z, dim=-1)\nloss = -torch.log(p.gather(1, y[:, None])).mean()",
            "log_p = torch.log_softmax(z, dim=-1)\nloss = -log_p.gather(1, y[:, None]).mean()",
        ),
        (
            "def bce(z, y):\n    p = z.sigmoid()\n    return -(y * p.log() + (1 - y) * torch.log(1 - p)).mean(), p",
            "def bce(z, y):\n    p = z.sigmoid()\n    log_p = torch.nn.functional.logsigmoid(z)\n"
            "    log_not_p = torch.nn.functional.logsigmoid(-z)\n    return -(y * log_p + (1 - y) * log_not_p).mean(), "
            "p",
        ),
    ],
)
def test_logarithms_of_shares_are_written_in_log_space(tmp_path: Path, source: str, expected: str) -> None:
    script = _written(tmp_path, f"import torch\n{source}\n")
    edits = edited(tmp_path, script, combined("log_space"), Evidence())
    assert edits == {script.name: f"import torch\n{expected}\n"}


@pytest.mark.parametrize(
    "source",
    [
        "a = torch.log(p)",
        "a = torch.log(torch.softmax(z, 1) + 1e-8)",
        "p = torch.softmax(z, 1)\np = p / 2\na = torch.log(p)",  # not the shares any more
        "def f(p):\n    return torch.log(p)\np = torch.softmax(z, 1)",  # another p
        "a = torch.log(1 - torch.softmax(z, 1))",
    ],
)
def test_logarithms_of_anything_else_are_left_alone(tmp_path: Path, source: str) -> None:
    script = _written(tmp_path, f"import torch\n{source}\n")
    assert edited(tmp_path, script, combined("log_space"), Evidence()) is None


@pytest.mark.parametrize(
    ("setting", "cause", "line", "source", "expected"),
    [
        ("attached", "detached-graph", 2, "def f(p, t):\n    d = p.detach() - t  # apart\n    return d.detach()\n",
         "def f(p, t):\n    d = p - t  # apart\n    return d.detach()\n"),
        ("attached", "detached-graph", 1, "h = model(x).data\n", "h = model(x)\n"),
        ("attached", "detached-graph", 3,
         "def f(x):\n    with torch.no_grad():\n        h = x @ w  # hidden\n    return h @ v\n",
         "def f(x):\n    h = x @ w  # hidden\n    return h @ v\n"),
        ("sign", "loss-sign-flipped", 2, "def f(p, t):\n    return -(p - t).abs().mean()\n",
         "def f(p, t):\n    return (p - t).abs().mean()\n"),
        ("sign", "loss-sign-flipped", 1, "loss = picked.log().mean()\n", "loss = -picked.log().mean()\n"),
        ("aligned", "labels-misaligned", 1, "step(X[rows], y[rows[torch.randperm(50)]])\n", "step(X[rows], y[rows])\n"),
        ("aligned", "labels-misaligned", 2,
         "a = flip(a)\nloss = f(p, torch.roll(y, 1))\n", "a = flip(a)\nloss = f(p, y)\n"),
        ("aligned", "labels-misaligned", 1, "picked = p[i, y.flip(0)]\n", "picked = p[i, y]\n"),
        ("aligned", "labels-misaligned", 3,
         "def f(x, y):\n    # mixed\n    return x[torch.randperm(len(x))], y[torch.randperm(len(y))]\n",
         "def f(x, y):\n    # mixed\n    order = torch.randperm(len(x))\n    return x[order], y[order]\n"),
        ("fresh_batches", "same-batch-forever", 1,
         "i = torch.randint(0, n, (8,), generator=torch.Generator().manual_seed(0))\n",
         "i = torch.randint(0, n, (8,))\n"),
        ("aligned", "labels-misaligned", 2, "def f(rows):\n    a = sorted([r for r, _ in rows], key=len)\n",
         "def f(rows):\n    a = [r for r, _ in rows]\n"),
        ("shift", "target-not-shifted", 2, "out = model(ids[:, :-1])\nwanted = ids[:, :-1]\n",
         "out = model(ids[:, :-1])\nwanted = ids[:, 1:]\n"),
        ("unfreeze", "frozen-params", 2, "on(net.head, True)\non(net.body, config.warm)  # start\n",
         "on(net.head, True)\non(net.body, True)  # start\n"),
        ("eval_mode", "train-mode-during-eval", 3,
         "def check(net):\n    for x in data:\n        net.train()  # ready\n        net(x)\n",
         "def check(net):\n    for x in data:\n        net.eval()  # ready\n        net(x)\n"),
        ("train_mode", "eval-mode-during-training", 2, "for e in range(3):\n    net.eval()\n    loss(net).backward()\n",
         "for e in range(3):\n    net.train()\n    loss(net).backward()\n"),
        ("all_params", "params-not-in-optimizer", 2,
         "net = Net()\nopt = Adam(list(net.parameters())[-2:], lr=1)\nnet(x)\n",
         "net = Net()\nopt = Adam(net.parameters(), lr=1)\nnet(x)\n"),
        ("one_optimizer", "optimizer-recreated", 3,
         "opt = Adam(net.parameters())\nfor x in data:\n    opt = Adam(net.parameters())\n    opt.step()\n",
         "opt = Adam(net.parameters())\nfor x in data:\n    opt.step()\n"),
        ("fresh_batches", "same-batch-forever", 2, "for x, y in data:\n    x, y = first\n    step(x, y)\n",
         "for x, y in data:\n    step(x, y)\n"),
        ("fresh_batches", "same-batch-forever", 3,
         "for x in data:\n    # the same again\n    torch.manual_seed(0), np.random.seed(0)\n    step(x)\n",
         "for x in data:\n    # the same again\n    step(x)\n"),
        ("val_labels", "train-val-label-mismatch", 3,
         "def check(net):\n    for x, y in held:\n        y = (y + 1) % 10\n        score(net(x), y)\n",
         "def check(net):\n    for x, y in held:\n        score(net(x), y)\n"),
        ("held_out", "train-val-leak", 2,
         "train_idx, valid_idx = parts()\nheld = Sampler(train_idx)\nfit(Sampler(train_idx), held)\n",
         "train_idx, valid_idx = parts()\nheld = Sampler(valid_idx)\nfit(Sampler(train_idx), held)\n"),
        ("unfreeze", "frozen-params", 2,
         "old.requires_grad_(False)\n[p.requires_grad_(False) for p in list(net.parameters())[:-2]]\nfit()\n",
         "old.requires_grad_(False)\nfit()\n"),
        ("logits", "softmax-before-cross-entropy", 2, "def f(h):\n    return (h @ w + b).softmax(1)\n",
         "def f(h):\n    return (h @ w + b)\n"),
        ("logits", "double-sigmoid", 1, "out = head(x).sigmoid()\n", "out = head(x)\n"),
        ("shapes", "loss-shape-broadcast", 2, "def f(p, t):\n    d = p - t\n    return d.abs().mean()\n",
         "def f(p, t):\n    d = p.squeeze(-1) - t\n    return d.abs().mean()\n"),
        ("reduction", "loss-sum-reduction", 1, "loss = (d ** 2).sum()\n", "loss = (d ** 2).mean()\n"),
        ("reduction", "loss-sum-reduction", 1, "loss = torch.sum(d ** 2)\n", "loss = torch.mean(d ** 2)\n"),
        ("attached", "detached-graph", 2,
         "def f(p, t):\n    return torch.tensor((p - t).mean().item(), requires_grad=True)  # loss\n",
         "def f(p, t):\n    return (p - t).mean()  # loss\n"),
        ("attached", "detached-graph", 2,
         "def f(h):\n    h = torch.from_numpy(h.detach().cpu().numpy())\n    return h.mean(1)\n",
         "def f(h):\n    return h.mean(1)\n"),
        ("output", "relu-on-output", 2, "def decode(self, z):\n    return F.relu(self.last(z))\n",
         "def decode(self, z):\n    return self.last(z)\n"),
        ("output", "bounded-output", 3,
         "def price(self, z):\n    z = torch.tanh(self.first(z))\n    return torch.tanh(self.last(z))\n",
         "def price(self, z):\n    z = torch.tanh(self.first(z))\n    return self.last(z)\n"),
        ("divide_floor", "division-by-zero", 2, "def f(u, v):\n    return (u - v).pow(2).sum(1).sqrt()  # far\n",
         "def f(u, v):\n    return (u - v).pow(2).sum(1).clamp(min=1e-08).sqrt()  # far\n"),
        ("divide_floor", "division-by-zero", 1, "d = ((u - v) ** 2).sum(1) ** 0.5\n",
         "d = ((u - v) ** 2).sum(1).clamp(min=1e-08) ** 0.5\n"),
        ("divide_floor", "division-by-zero", 1, "d = torch.sqrt(a + b) / 2\n",
         "d = torch.sqrt((a + b).clamp(min=1e-08)) / 2\n"),
        ("divide_floor", "division-by-zero", 1, "m = x.sum().div(mask.sum())\n",
         "m = x.sum().div(mask.sum() + 1e-05)\n"),
        ("attached", "detached-graph", 1, "a = h.detach().numpy()\nb = torch.as_tensor(a) * 2\n",
         "a = h\nb = a * 2\n"),
        ("attached", "detached-graph", 3,
         "@torch.no_grad()\ndef f(x):\n    return x @ w\n", "def f(x):\n    return x @ w\n"),
        ("logits", "double-sigmoid", 2,
         "def f(z, y):\n    p = torch.sigmoid(z)\n    return F.binary_cross_entropy(p, y) + dice(p, y)\n",
         "def f(z, y):\n    p = torch.sigmoid(z)\n    return F.binary_cross_entropy(z, y) + dice(p, y)\n"),
        ("logits", "softmax-before-cross-entropy", 3,
         "net = nn.Sequential(\n    nn.Linear(8, 3),  # classes\n    nn.Softmax(dim=1),\n)\n",
         "net = nn.Sequential(\n    nn.Linear(8, 3),  # classes\n)\n"),
        ("sign", "loss-sign-flipped", 1, "loss = recon_loss - beta * kl_loss\n",
         "loss = recon_loss + beta * kl_loss\n"),
        ("shapes", "loss-shape-broadcast", 1, "e = (y - model(x)).abs().mean()\n",
         "e = (y - model(x).squeeze(-1)).abs().mean()\n"),
        ("keep_gradients", "gradients-cleared-before-step", 3,
         "for x in data:\n    f(x).backward()\n    opt.clear()\n    opt.step()\n",
         "for x in data:\n    f(x).backward()\n    opt.step()\n    opt.clear()\n"),
        ("fresh_batches", "same-batch-forever", 2,
         "for _ in range(9):\n    set_seed(cfg.seed)\n    i = torch.randint(9, (2,))\n",
         "for _ in range(9):\n    i = torch.randint(9, (2,))\n"),
        ("fresh_batches", "same-batch-forever", 5,
         "seed = 3\n\n\ndef draw(n):\n    rng = np.random.default_rng(seed)\n    return x[rng.integers(0, 9, n)]\n",
         "seed = 3\n\n\nrng = np.random.default_rng(seed)\n\n\ndef draw(n):\n    return x[rng.integers(0, 9, n)]\n"),
        ("fresh_batches", "same-batch-forever", 3,
         "# train\nfor step in range(9):\n    g = torch.Generator().manual_seed(7)  # mine\n"
         "    i = torch.randint(0, 9, (2,), generator=g)\n",
         "# train\ng = torch.Generator().manual_seed(7)  # mine\nfor step in range(9):\n"
         "    i = torch.randint(0, 9, (2,), generator=g)\n"),
        ("logits", "softmax-before-cross-entropy", 3,
         "def f(z):\n    e = torch.exp(z)\n    return e / e.sum(1, keepdim=True)\n",
         "def f(z):\n    e = torch.exp(z)\n    return z\n"),
        ("logits", "double-sigmoid", 1, "p = 1 / (1 + (-net(x)).exp())\n", "p = net(x)\n"),
        ("sign", "loss-sign-flipped", 1, "(loss * -1.0).backward()\n", "loss.backward()\n"),
        ("sign", "loss-sign-flipped", 1, "loss = torch.neg(F.mse_loss(p, y))\n", "loss = F.mse_loss(p, y)\n"),
        ("sign", "loss-sign-flipped", 1, "opt = torch.optim.Adam(net.parameters(), lr=0.1, maximize=True)\n",
         "opt = torch.optim.Adam(net.parameters(), lr=0.1)\n"),
        ("aligned", "labels-misaligned", 3,
         "class A:\n    def __init__(self):\n        rng.shuffle(self.labels)\n        self.n = 3\n",
         "class A:\n    def __init__(self):\n        self.n = 3\n"),
        ("aligned", "labels-misaligned", 1, "t = torch.stack(sorted((t for _, t in rows), key=int))\n",
         "t = torch.stack([t for _, t in rows])\n"),
        ("aligned", "labels-misaligned", 2, "for e in range(3):\n    order = torch.randperm(9)\n    a = X[order]\n",
         "for e in range(3):\n    a = X\n"),
        ("causal", "causal-mask-missing", 2, "s = q @ k.mT\nw = s.softmax(dim=-1)\n",
         "s = q @ k.mT\ns = s.masked_fill(torch.ones_like(s, dtype=torch.bool).triu(1), float(\"-inf\"))\n"
         "w = s.softmax(dim=-1)\n"),
        ("init=default", "init-too-large", 3,
         "net = Net()\nwith torch.no_grad():\n    [p.mul_(30) for p in net.parameters()]\nopt = SGD(net)\n",
         "net = Net()\nopt = SGD(net)\n"),
        ("init=fan_in", "constant-init", 2, "for m in net:\n    nn.init.zeros_(m.weight)\n",
         "for m in net:\n    nn.init.kaiming_normal_(m.weight, nonlinearity=\"relu\")\n"),
        ("init=fan_in", "constant-init", 1, "w = torch.ones(2, 3) * 0.1\n", "w = torch.randn(2, 3) * 0.1\n"),
        ("init=small", "constant-init", 1, "w = torch.full((2, 3), 0.5)\n", "w = (torch.randn((2, 3)) * 0.02)\n"),
    ],
)  # fmt: skip
def test_an_edit_is_made_on_the_line_that_is_named(
    tmp_path: Path, setting: str, cause: str, line: int, source: str, expected: str
) -> None:
    script = tmp_path / "train.py"
    script.write_text(source)
    wanted = combined(setting)
    named = Evidence(lines={cause: ("train.py", line)})
    assert edited(tmp_path, script, wanted, named) == {"train.py": expected}
    if cause not in ("params-not-in-optimizer", "optimizer-recreated"):  # which the source alone shows
        assert edited(tmp_path, script, wanted, Evidence(lines={cause: ("other.py", line)})) is None


def test_the_side_with_more_dimensions_loses_one(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text("loss = mse(out, y[:, None])\n")
    text = "mse_loss compares an output of shape {} with a target of shape {}: they broadcast."
    for shapes, line in (("(32)", "(32, 1)"), "mse(out, y[:, None].squeeze(1))"), (
        ("(32, 1)", "(32)"), "mse(out.squeeze(1), y[:, None])",
    ):  # fmt: skip
        seen = Evidence(places={"shapes-broadcast": ("train.py", 1)}, texts={"shapes-broadcast": text.format(*shapes)})
        assert edited(tmp_path, script, combined("shapes"), seen) == {"train.py": f"loss = {line}\n"}


def test_a_group_of_a_part_is_given_the_whole_model(tmp_path: Path) -> None:
    source = (
        "def setup(model, lr):\n    groups = [{'params': model.head.parameters(), 'lr': lr}]\n"
        "    return torch.optim.AdamW(groups)\n"
    )
    assert changed(tmp_path, source, "all_params") == ["groups = [{'params': model.parameters(), 'lr': lr}]"]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("[*body.parameters()]", "[*body.parameters(), *head.parameters()]"),
        ("body.parameters()", "[*body.parameters(), *head.parameters()]"),
        ("list(body.parameters())", "list(body.parameters()) + list(head.parameters())"),
        ("[{'params': body.parameters()}]", "[{'params': body.parameters()}, {\"params\": head.parameters()}]"),
        ("[*body.parameters(), *head.parameters()]", None),
    ],
)
def test_a_model_that_stands_beside_is_given_to_the_optimiser(tmp_path: Path, given: str, expected: str | None) -> None:
    source = f"body, other = Body(), 1\nbody = Body()\nhead = Head(3)\nopt = Adam({given}, lr=1)\nhead(body(x))\n"
    script = _written(tmp_path, source)
    said = "2 of 8 parameters (9 % of the weights) receive a gradient, but no optimiser holds them: Head.fc.weight."
    found = edited(tmp_path, script, combined("all_params"), Evidence(texts={"parameters-not-optimized": said}))
    assert found == (None if expected is None else {script.name: source.replace(given, expected)})


def test_outputs_that_are_squashed_again_where_they_are_read_become_scores(tmp_path: Path) -> None:
    source = (
        "class Net(nn.Module):\n    def forward(self, x):\n        return torch.sigmoid(self.out(x))\n"
        "loss_fn = nn.BCEWithLogitsLoss()\nfound = {} > 0.5\n"
    )
    assert changed(tmp_path, source.format("net(x)"), "logits") == ["loss_fn = nn.BCELoss()"]
    assert changed(tmp_path, source.format("torch.sigmoid(net(x))"), "logits") == ["return self.out(x)"]


def test_a_generator_that_is_made_of_what_is_known_inside_stays(tmp_path: Path) -> None:
    source = "def draw(n, seed):\n    rng = np.random.default_rng(seed)\n    return x[rng.integers(0, 9, n)]\n"
    (tmp_path / "train.py").write_text(source)
    named = Evidence(lines={"same-batch-forever": ("train.py", 2)})
    assert edited(tmp_path, tmp_path / "train.py", combined("fresh_batches"), named) is None


def test_labels_are_taken_in_the_order_of_their_inputs(tmp_path: Path) -> None:
    source = "p = torch.randperm(n)\nxs, ys = x[p], y[torch.randperm(n)]\n"
    script = _written(tmp_path, source)
    named = Evidence(lines={"labels-misaligned": (script.name, 2)})
    wanted = source.replace("y[torch.randperm(n)]", "y[p]")
    assert edited(tmp_path, script, combined("aligned"), named) == {script.name: wanted}


def test_a_schedule_that_is_stepped_twice_is_stepped_once(tmp_path: Path) -> None:
    source = (
        "sched = StepLR(opt, 10)\ndef batch(x):\n    opt.step()\n    sched.step()\n\ndef epoch():\n    sched.step()\n"
    )
    script = _written(tmp_path, source)
    wanted = source.replace("    opt.step()\n    sched.step()\n", "    opt.step()\n")
    assert edited(tmp_path, script, combined("scheduler"), Evidence()) == {script.name: wanted}


def test_held_out_data_alone_are_not_standardised(tmp_path: Path) -> None:
    source = (
        "import torch\nxtr, xte = load()\nnet = Net()\nopt = torch.optim.SGD(net.parameters(), lr=0.1)\n"
        "for a, b in batches(xtr):\n    net(a)\nnet(xte)\n"
    )
    assert not any("xte" in line for line in changed(tmp_path, source, "input_scale"))


def test_the_optimiser_that_is_not_cleared_is_cleared(tmp_path: Path) -> None:
    source = (
        "def d_step(x):\n    opt_d.zero_grad()\n    d(x).backward()\n    opt_d.step()\n\n"
        "def g_step(x):\n    # now the other\n    g(x).backward()\n    opt_g.step()\n"
    )
    script = _written(tmp_path, source)
    edits = edited(tmp_path, script, combined("zero_grad"), Evidence())
    wanted = source.replace("    # now the other\n", "    # now the other\n    opt_g.zero_grad()\n")
    assert edits == {script.name: wanted}


def test_a_loss_that_is_imported_by_itself_is_imported_by_its_other_name(tmp_path: Path) -> None:
    source = "from torch.nn.functional import nll_loss\nloss = nll_loss(model(x), y)\n"
    wanted = "from torch.nn.functional import cross_entropy\nloss = cross_entropy(model(x), y)\n"
    script = _written(tmp_path, source)
    assert edited(tmp_path, script, combined("logits"), Evidence()) == {script.name: wanted}


def test_a_model_that_builds_its_own_optimiser_gives_it_all_it_has(tmp_path: Path) -> None:
    source = (
        "class Lit(Module):\n    def training_step(self, b):\n        return b\n\n"
        "    def configure_optimizers(self):\n        return Adam(self.head.parameters())\n"
    )
    assert changed(tmp_path, source, "all_params") == ["return Adam(self.parameters())"]
    of_a_function = "def build(model, lr):\n    return Adam(model.head.parameters(), lr)\n"
    assert changed(tmp_path, of_a_function, "all_params") == ["return Adam(model.parameters(), lr)"]


def test_batches_that_a_function_hands_out_are_made_larger_where_their_size_is_written(tmp_path: Path) -> None:
    source = "def batches(x, size=2):\n    for i in range(0, len(x), size):\n        yield x[i : i + size]\n"
    assert changed(tmp_path, source, "batch_size=x4") == ["def batches(x, size=8):"]


def _written(folder: Path, source: str) -> Path:
    (folder / "other.py").write_text(source)
    return folder / "other.py"


def test_targets_are_scaled_by_what_the_recording_saw(tmp_path: Path) -> None:
    script = _written(tmp_path, "crit = nn.MSELoss()\nloss = crit(net(x), y[b])\n")
    seen = Evidence(
        texts={"targets-unscaled": "The targets have mean 181.2 and standard deviation 89.66; the model gives 0."}
    )
    edits = edited(tmp_path, script, combined("target_scale"), seen)
    assert edits is not None
    assert "crit(net(x), (y[b] - 181.2) / 89.66)" in edits["other.py"]


DATA = """\
import torch

x, y = load()
n = 800
model = torch.nn.Linear(2, 1)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for index in batches(n):
    loss = ((model(x[index]) - y[index]) ** 2).mean()
val = model(x[n:])
"""


def test_inputs_are_standardised_where_they_are_made(tmp_path: Path) -> None:
    assert changed(tmp_path, DATA.replace("y[index]", "y[:n][index]"), "input_scale") == [
        "input_mean, input_std = x.mean(0), x.std(0) + 1e-8",
        "x = (x - input_mean) / input_std  # standardised",
    ]
    sliced = DATA.replace("x[index]", "x[:n][index]")
    assert changed(tmp_path, sliced, "input_scale") == [
        "x = (x - x[:n].mean(0)) / (x[:n].std(0) + 1e-8)  # standardised"
    ]
    two = DATA.replace("x, y = load()\n", "x, y = load()\nx_val, y_val = held_out()\n").replace("x[n:]", "x_val")
    assert changed(tmp_path, two, "input_scale") == [
        "input_mean, input_std = x.mean(0), x.std(0) + 1e-8",
        "x = (x - input_mean) / input_std  # standardised",
        "x_val = (x_val - input_mean) / input_std  # standardised",
    ]


def test_data_that_targets_are_computed_from_are_left_alone(tmp_path: Path) -> None:
    derived = DATA.replace("n = 800\n", "n = 800\ny = 3 * x[:, :1]\n")
    assert changed(tmp_path, derived, "input_scale") == [
        "model = torch.nn.Sequential(torch.nn.LazyBatchNorm1d(affine=False), model)  # standardises the inputs"
    ]


def test_a_divisor_is_changed_where_the_recording_saw_it_be_zero(tmp_path: Path) -> None:
    source = "rate = hits / count\nloss = (mask * error).sum() / mask.sum()\n"
    script = _written(tmp_path, source)
    assert edited(tmp_path, script, combined("divide_floor"), Evidence()) is None  # two divisions, and no line
    seen = Evidence(places={"nan-from-division": ("other.py", 2)})
    edits = edited(tmp_path, script, combined("divide_floor"), seen)
    assert edits is not None
    assert edits["other.py"].splitlines()[1] == "loss = (mask * error).sum() / (mask.sum() + 1e-05)"
    named = Evidence(places={"nan-from-division": ("other.py", 3)}, lines={"division-by-zero": ("other.py", 1)})
    edits = edited(tmp_path, script, combined("divide_floor"), named)  # seen where gradients are, made elsewhere
    assert edits is not None
    assert edits["other.py"].splitlines()[0] == "rate = hits / (count + 1e-05)"
    seen = Evidence(places={"nan-from-log": ("other.py", 1)})
    script = _written(tmp_path, "a = torch.log(p)\nb = torch.log(q + r)\n")
    edits = edited(tmp_path, script, combined("log_floor"), seen)
    assert edits is not None
    assert edits["other.py"].splitlines() == ["a = torch.log(p.clamp(min=1e-07))", "b = torch.log(q + r)"]


@pytest.mark.parametrize(
    ("setting", "expected"),
    [
        ("epochs=x3", "num_train_epochs=9"),
        ("lr=x0.1", "learning_rate=0.0005"),
        ("batch_size=x2", "batch_size=16"),
    ],
)
def test_a_trainer_is_changed_where_its_arguments_are_made(tmp_path: Path, setting: str, expected: str) -> None:
    made = "a = TrainingArguments('out', max_steps=-1, num_train_epochs=3, learning_rate=5e-3, "
    source = f"{made}per_device_train_batch_size=8)\nTrainer(model, a, train_dataset=data).train()\n"
    assert expected in changed(tmp_path, source, setting)[0]
    twice = f"{source}b = TrainingArguments('again', num_train_epochs=3)\n"
    assert changed(tmp_path, twice, setting) == []
