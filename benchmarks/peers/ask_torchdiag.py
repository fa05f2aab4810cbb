"""torchdiag's three checks on the live model, after a short training of the specimen. Needs torch and the zoo's own
modules."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "zoo"))

import tempfile

import torch
import torchdiag
from exchange import serve
from plan import Spec, build
from training import fresh_model, make_optimizer, train

torch.set_num_threads(1)


def look(asked):  # type: ignore[no-untyped-def]
    setup, _, _ = build(Spec(**{**asked["spec"], "causes": tuple(asked["spec"]["causes"])}))
    setup.steps = 60
    model = fresh_model(setup)
    with tempfile.TemporaryDirectory() as folder:
        train(setup, Path(folder), model=model)
    model.train(setup.train_mode)
    inputs, targets = setup.train[0][: setup.batch], setup.train[1][: setup.batch]
    inputs = setup.feed(inputs) if setup.feed else inputs
    inputs = inputs.to(setup.precision) if setup.precision and inputs.is_floating_point() else inputs
    targets = targets.to(setup.precision) if setup.precision and targets.is_floating_point() else targets
    found = []
    told = torchdiag.verify_step(model, make_optimizer(setup, model), setup.loss, inputs, targets)
    if isinstance(told.get("loss"), float) and not abs(told["loss"]) < float("inf"):
        found.append("not-finite")
    if told.get("params_unchanged", 0) > 0 and told.get("params_updated", 1) == 0:
        found.append("nothing-changed")
    status = {entry["status"] for entry in torchdiag.check_gradients(model).values()}
    found += [name for name in ("EXPLODE", "VANISH", "no_grad") if name in status]
    if any(entry["dead_pct"] > 20 for entry in torchdiag.check_dead_neurons(model, inputs).values()):
        found.append("dead")
    return [(name, 1.0) for name in found]


serve(look)
