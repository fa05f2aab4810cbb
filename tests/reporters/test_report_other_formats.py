"""Markdown that survives any text, JSON that any parser takes, and the registry of formats."""

from __future__ import annotations

import json
import math

import pytest
import reporter_samples as samples

from traindx.diagnosis import Curve, Diagnosis
from traindx.reporters import reporters
from traindx.reporters.markdown import block, code, escaped, language_of, row


def render(flag: str, *diagnoses: Diagnosis) -> str:
    return reporters()[flag].render(diagnoses, color=False, width=100)


def test_formats_register_by_being_there() -> None:
    assert {"text", "md", "json"} <= set(reporters())


def test_json_round_trip_without_nan_literals() -> None:
    told = samples.unhealthy(
        curves=(Curve("loss", (0.0, 1.0, 2.0), (1.0, math.nan, math.inf)),),
        run=samples.summary(config={"lr": math.nan}),
    )

    def refuse(literal: str) -> None:
        raise AssertionError(f"{literal} is no JSON")

    document = json.loads(render("json", told), parse_constant=refuse)
    assert document["curves"][0]["values"] == [1, "nan", "inf"]
    assert Diagnosis.from_json(document).verdict == "unhealthy"


def test_json_is_an_object_or_a_list() -> None:
    assert isinstance(json.loads(render("json", samples.healthy())), dict)
    assert len(json.loads(render("json", samples.healthy(), samples.unhealthy()))) == 2


def test_markdown_has_all_parts() -> None:
    text = render("md", samples.unhealthy())
    for part in ("## traindx: UNHEALTHY", "| `divergence` | steps 97–412 |", "```python\noptimizer =", "**Do not**",
                 "| 11 % | corrupt samples in the data | `corrupt-samples` |", "**Not checked (no evidence):** "
                                                                               "`overfitting-gap`",
                 "**Next:**"):  # fmt: skip
        assert part in text, part


def test_markdown_shows_every_run_in_full() -> None:
    runs = [samples.unhealthy(run=samples.summary(source=f"{n}.csv")) for n in range(6)]
    text = render("md", *runs)
    assert text.startswith("# traindx: 6 runs")
    assert text.count("## traindx: UNHEALTHY") == 6


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a*b_c", r"a\*b\_c"),
        ("<script>", "&lt;script&gt;"),
        ("[x](y)", r"\[x\](y)"),
        ("a`b", r"a\`b"),
        ("# t", r"\# t"),
    ],
)
def test_prose_is_escaped(text: str, expected: str) -> None:
    assert escaped(text) == expected


def test_code_cannot_be_closed_from_inside() -> None:
    assert code("a`b") == "``a`b``"
    assert code("`a") == "`` `a ``"
    assert block(["x", "````"]).startswith("`````\n")
    assert row("a|b", "`c|d`") == r"| a\|b | `c\|d` |"


def test_language_of_a_fix() -> None:
    assert language_of("\nlr = 1e-3") == "python"
    assert language_of("traindx diagnose x") == "sh"
