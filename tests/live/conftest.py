"""Under an older torch (`.ci/torch-minors`) the libraries built on it are not there; what needs them is left out.
Where they belong, in `make test`, nothing is left out."""

from __future__ import annotations

import os
from collections.abc import Generator

import pytest

LEFT_OUT = frozenset(os.environ.get("TRAINDX_TESTED_WITHOUT", "").split())


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, None, None]:
    try:
        return (yield)
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] in LEFT_OUT:
            pytest.skip(f"needs {error.name}")
        raise
