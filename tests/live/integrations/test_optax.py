"""The optax wrapper around real, tiny trainings."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from toy_task import CLASSES, INPUTS, TRAINED, task

from traindx.readers.find import find_runs

pytest.importorskip("jax")
pytest.importorskip("optax")
jax: Any = importlib.import_module("jax")
jnp: Any = importlib.import_module("jax.numpy")
optax: Any = importlib.import_module("optax")


def start() -> dict[str, Any]:
    first, second = jax.random.split(jax.random.key(0))
    return {
        "hidden": {"kernel": jax.random.normal(first, (INPUTS, 16)) * 0.5, "bias": jnp.zeros(16)},
        "out": {"kernel": jax.random.normal(second, (16, CLASSES)) * 0.3, "bias": jnp.zeros(CLASSES)},
    }


def loss_of(params: Any, x: Any, y: Any) -> Any:
    hidden = jax.nn.relu(x @ params["hidden"]["kernel"] + params["hidden"]["bias"])
    out = hidden @ params["out"]["kernel"] + params["out"]["bias"]
    return optax.softmax_cross_entropy_with_integer_labels(out, y).mean()


def fit(optimizer: Any, epochs: int = 8, recorded: bool = False) -> tuple[Any, Any, list[dict[str, Any]]]:
    """The last parameters and state, and the gradients of every step."""
    x, y = task()

    def step(params: Any, state: Any, x: Any, y: Any) -> tuple[Any, Any, Any]:
        loss, gradients = jax.value_and_grad(loss_of)(params, x, y)
        updates, state = optimizer.update(gradients, state, params, **({"value": loss} if recorded else {}))
        return optax.apply_updates(params, updates), state, gradients

    compiled = jax.jit(step, donate_argnums=(0, 1))
    params = start()
    state = optimizer.init(params)
    seen = []
    for _ in range(epochs):
        for first in range(0, TRAINED, 32):
            params, state, gradients = compiled(params, state, x[first : first + 32], y[first : first + 32])
            seen.append(jax.device_get(gradients))
            if recorded:
                optimizer.collect(state)
        if recorded:
            optimizer.log(val_loss=loss_of(params, x[TRAINED:], y[TRAINED:]))
    return params, state, seen


def same(one: Any, other: Any) -> bool:
    pairs = zip(jax.tree_util.tree_leaves(one), jax.tree_util.tree_leaves(other), strict=True)
    return all(np.array_equal(np.asarray(a), np.asarray(b)) for a, b in pairs)


@pytest.mark.parametrize("name", ["sgd", "adamw"])
def test_a_healthy_training_is_healthy_and_unchanged(tmp_path: Path, name: str) -> None:
    from traindx.optax import record

    def build() -> Any:
        return optax.inject_hyperparams(getattr(optax, name))(learning_rate=0.1 if name == "sgd" else 0.01)

    bare, _, gradients = fit(build())
    optimizer = record(build(), to=tmp_path / "o.traindx")
    params, state, _ = fit(optimizer, recorded=True)
    assert same(bare, params)
    page = optimizer.finish(state)
    assert page is not None
    assert page.verdict == "healthy"
    (run,) = find_runs([tmp_path / "o.traindx"])
    assert len(run.series["train_loss"]) == len(gradients) == 160
    assert len(run.series["val_loss"]) >= 7
    norms = [np.linalg.norm(one["hidden"]["kernel"]) for one in gradients]
    assert run.series["grad_norm/hidden.kernel"].values == pytest.approx(norms, rel=1e-5)
    if name == "sgd":
        ratios, sizes = (run.series[f"{kind}/hidden.kernel"].values for kind in ("update_ratio", "weight_norm"))
        assert ratios * sizes == pytest.approx(0.1 * np.array(norms), rel=1e-4)
        assert run.series["lr"].values == pytest.approx(0.1)


def test_too_high_a_rate_and_weights_that_stand_still_are_told(tmp_path: Path) -> None:
    from traindx.optax import record

    fast = optax.inject_hyperparams(optax.sgd)(learning_rate=30.0, momentum=0.9)
    parts = optax.multi_transform({"on": fast, "off": optax.set_to_zero()}, {"hidden": "off", "out": "on"})
    optimizer = record(parts, to=tmp_path / "o.traindx", report=False)
    _, state, _ = fit(optimizer, recorded=True)
    page = optimizer.finish(state)
    assert page is not None
    assert page.verdict == "unhealthy"
    assert {"huge-updates", "unchanged-weights"} <= {one.id for one in page.present()}


def test_scans_keep_as_many_steps_as_asked_and_a_second_training_is_another(tmp_path: Path) -> None:
    from traindx.optax import record

    optimizer = record(optax.sgd(0.1), to=tmp_path / "o.traindx", keep=40, report=False)
    x, y = task()

    def step(carry: Any, _: Any) -> tuple[Any, None]:
        params, state = carry
        loss, gradients = jax.value_and_grad(loss_of)(params, x, y)
        updates, state = optimizer.update(gradients, state, params, loss=loss)
        return (optax.apply_updates(params, updates), state), None

    for folder in ("o.traindx", "o-2.traindx"):
        params = start()
        carry = params, optimizer.init(params)
        for _ in range(3):
            carry, _ = jax.lax.scan(step, carry, None, length=30)
            optimizer.collect(carry)
        optimizer.finish()
        (run,) = find_runs([tmp_path / folder])
        assert len(run.series["train_loss"]) == 90
