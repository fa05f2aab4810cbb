"""Fixtures for tests of models. pytest loads this file in every project it is installed in, so it imports nothing else:
torch and the probes come with the first test that asks for a fixture."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Assertion = Callable[..., Any]


@pytest.fixture
def assert_trains() -> Assertion:
    """The model learns one batch, gradients reach everything, nothing leaks: `assert_trains(model, (x, y),
    loss_fn)`."""
    from traindx.testing import assert_trains

    return assert_trains


@pytest.fixture
def assert_overfits() -> Assertion:
    """The model can learn one batch: `assert_overfits(model, (x, y), loss_fn, optimizer)`."""
    from traindx.testing import assert_overfits

    return assert_overfits


@pytest.fixture
def assert_gradients_reach() -> Assertion:
    """Every trained parameter receives a gradient: `assert_gradients_reach(model, (x, y), loss_fn)`."""
    from traindx.testing import assert_gradients_reach

    return assert_gradients_reach


@pytest.fixture
def assert_no_leak() -> Assertion:
    """No validation sample is in the training data: `assert_no_leak(train_loader, validation_loader)`."""
    from traindx.testing import assert_no_leak

    return assert_no_leak
