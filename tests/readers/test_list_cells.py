"""Tables with a whole curve in each cell."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from reading import read_text, survives
from traindx.readers.formats import list_cells

TABLE = (
    ",Training_loss,Validation_loss,time\n"
    '8-channels,"[0.9, 0.5, 0.25, 0.2, 0.1]","[1.0, nan, 0.5, 0.4, 0.3]",12.5\n'
    '16-channels,"[tensor(0.8), tensor(0.4), tensor(0.2), 0.1, 0.05]","[0.9, 0.6, 0.5, 0.4, 0.35]",13.0\n'
)


def test_every_row_is_a_run_and_every_cell_a_curve() -> None:
    runs = read_text(TABLE)
    assert [run.format for run in runs] == ["list-cells"] * 2
    assert [run.name for run in runs] == ["8-channels", "16-channels"]
    assert runs[0].series["Training_loss"].values.tolist() == [0.9, 0.5, 0.25, 0.2, 0.1]
    assert runs[1].series["Training_loss"].values.tolist() == [0.8, 0.4, 0.2, 0.1, 0.05]
    assert len(runs[0].series["Validation_loss"]) == 5


def test_lists_of_details_beside_a_table_of_numbers_change_nothing() -> None:
    rows = "".join(f'{i},{4 / i:.3f},"[{{""client"": 8, ""loss"": 6.7}}]"\n' for i in range(1, 9))
    runs = read_text(f"round,global_loss,client_details\n{rows}")
    assert [run.format for run in runs] == ["csv"]
    assert runs[0].series["global_loss"].steps.tolist() == list(range(1, 9))


@given(st.text(alphabet='ab,"[]\n0.1 ;\t', max_size=80))
def test_any_cells_are_survived(text: str) -> None:
    survives(list_cells.READER, (",loss,val_loss\n" + text).encode())
