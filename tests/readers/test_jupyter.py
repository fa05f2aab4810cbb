"""Notebooks: the tables and the text their cells show."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reading import one, read_text, survives
from traindx.errors import TraindxError
from traindx.readers.formats import jupyter

HF_TABLE = """<div><progress value='6'></progress></div><table border="1" class="dataframe"><thead>
<tr style="text-align: left;"><th>Step</th><th>Training Loss</th><th>Validation Loss</th></tr></thead><tbody>
<tr><td>100</td><td>No log</td><td>2.500000</td></tr><tr><td>200</td><td>2.100000</td><td>1.900000</td></tr>
<tr><td>300</td><td>1.800000</td><td>1.700000</td></tr></tbody></table><p>"""
HEAD_TABLE = (
    "<table><tr><th>name</th><th>age</th></tr><tr><td>a</td><td>3</td></tr><tr><td>b</td><td>4</td></tr></table>"
)


def notebook(*outputs: list[dict[str, Any]]) -> str:
    cells = [{"cell_type": "markdown", "source": ["# Training"]}]
    cells += [
        {"cell_type": "code", "execution_count": n + 1, "source": [], "outputs": shown}
        for n, shown in enumerate(outputs)
    ]
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=1)


def html(text: str) -> dict[str, Any]:
    return {
        "output_type": "display_data",
        "data": {"text/html": [text], "text/plain": ["<IPython.core.display.HTML object>"]},
    }


def stream(text: str) -> dict[str, Any]:
    return {"output_type": "stream", "name": "stdout", "text": text.splitlines(keepends=True)}


def test_the_trainers_table() -> None:
    run = one(read_text(notebook([html(HEAD_TABLE)], [html(HF_TABLE)]), name="train.ipynb"))
    assert run.format == "jupyter"
    assert run.series["Training Loss"].steps.tolist() == [200, 300]
    assert run.series["Validation Loss"].values.tolist() == [2.5, 1.9, 1.7]


def test_two_cells_are_two_runs() -> None:
    table = "epoch,train_loss,valid_loss\n" + "".join(f"{e},{3 - e / 2},{3.5 - e / 2}\n" for e in range(4))
    runs = read_text(notebook([stream("hello\n")], [stream(table)], [html(HF_TABLE)]), name="train.ipynb")
    assert [run.name for run in runs] == ["cell [2]", "cell [3]"]
    assert len(runs[0].series["valid_loss"]) == 4


def test_a_cell_that_failed() -> None:
    error = {
        "output_type": "error",
        "ename": "OutOfMemoryError",
        "evalue": "CUDA out of memory. Tried to allocate",
        "traceback": [],
    }
    run = one(read_text(notebook([html(HF_TABLE), error]), name="train.ipynb"))
    assert [event.kind for event in run.events] == ["oom"]


def test_an_error_outside_of_training_is_no_run() -> None:
    error = {"output_type": "error", "ename": "KeyError", "evalue": "'age'", "traceback": []}
    run = one(read_text(notebook([error], [html(HF_TABLE)]), name="train.ipynb"))
    assert not run.events


def test_old_notebooks() -> None:
    old = {"worksheets": [{"cells": [{"cell_type": "code", "prompt_number": 3,
                                      "outputs": [{"output_type": "display_data", "html": HF_TABLE}]}]}],
           "nbformat": 3}  # fmt: skip
    assert len(one(read_text(json.dumps(old), name="old.ipynb")).series["Validation Loss"]) == 3


def test_nothing_trained() -> None:
    with pytest.raises(TraindxError, match="No cell"):
        read_text(notebook([stream("hello\n")]), name="empty.ipynb")


@given(st.integers(0, 1500), st.binary(max_size=30))
def test_damaged_notebooks(place: int, noise: bytes) -> None:
    data = notebook([html(HF_TABLE)], [stream("epoch 1 loss 0.5\n")]).encode()
    survives(jupyter.READER, data[:place] + noise, name="x.ipynb")
