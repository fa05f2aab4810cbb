"""What CI servers read: GitHub annotations, SARIF that keeps to its schema, JUnit that is red exactly when the verdict
is."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any
from xml.etree import ElementTree

import jsonschema
import pytest
import reporter_samples as samples

from traindx.diagnosis import Diagnosis, Hypothesis, Observation
from traindx.mcp.answers import sentence, short
from traindx.reporters import reporters

HOSTILE = "::error::a,b:c\r\n::set-env name=X::100%\x1b[31m]]><script>&\u202e"


def render(flag: str, *diagnoses: Diagnosis) -> str:
    return reporters()[flag].render(diagnoses, color=False, width=100)


def wired() -> Diagnosis:
    """A diagnosis whose leading cause rests on a symptom seen at a line of the script."""
    told = "cross_entropy is given probabilities"
    seen = Observation("probabilities-as-logits", "present", told, (0, 0), "src/train.py:41")
    whole = samples.unhealthy()
    cause = whole.hypotheses[0]
    first = type(cause)(
        "softmax-before-cross-entropy", "softmax applied before cross-entropy", 0.9, (told,), fix=cause.fix
    )
    return samples.unhealthy(symptoms=(*whole.symptoms, seen), hypotheses=(first, *whole.hypotheses[1:]))


def hostile() -> Diagnosis:
    seen = Observation("divergence", "present", HOSTILE, (0, 1), f"{HOSTILE}.py:3")
    return samples.unhealthy(headline=HOSTILE, symptoms=(seen,), run=samples.summary(source=f"a b/{HOSTILE}.csv"))


def test_annotations_stand_at_the_line_the_evidence_names() -> None:
    lines = render("github", wired()).splitlines()
    assert lines[0].startswith(
        "::error file=src/train.py,line=41,title=softmax applied before cross-entropy (90 %25)::"
    )
    assert "%0Afix: " in lines[0]
    assert any(line.startswith("::warning ") for line in lines)
    assert render("github", samples.healthy()).startswith("::notice title=traindx%3A healthy::")


def test_every_cause_at_work_gets_an_annotation_at_its_own_line() -> None:
    told = "the gradients of earlier updates had not been cleared"
    stale = Observation("gradients-not-cleared", "present", told, (2, 2), "src/train.py:52")
    other = Hypothesis("missing-zero-grad", "gradients are not cleared between steps", 0.9, (told,))
    page = wired()
    lines = render("github", replace(page, symptoms=(*page.symptoms, stale), also=(other,))).splitlines()
    assert lines[0].startswith("::error file=src/train.py,line=41,title=softmax")
    assert lines[1].startswith("::error file=src/train.py,line=52,title=gradients are not cleared")
    assert "Also: gradients are not cleared between steps (missing-zero-grad, 90 %)." in sentence(
        replace(page, also=(other,))
    )


def test_nothing_in_a_log_becomes_a_workflow_command() -> None:
    lines = render("github", hostile()).splitlines()
    assert lines
    for line in lines:
        properties, _, message = line.removeprefix("::").partition("::")
        assert line.startswith(("::error ", "::warning ", "::notice "))
        assert message
        assert "%3A%3Aerror" in properties or "::error" not in properties
    assert "\x1b" not in "".join(lines)


# The parts of the SARIF 2.1.0 schema that our documents use: required members, types and closed vocabularies.
MESSAGE = {"type": "object", "required": ["text"], "properties": {"text": {"type": "string", "minLength": 1}}}
SARIF: dict[str, Any] = {
    "type": "object", "required": ["version", "runs"], "additionalProperties": False,
    "properties": {
        "$schema": {"type": "string", "format": "uri"}, "version": {"enum": ["2.1.0"]},
        "runs": {"type": "array", "items": {
            "type": "object", "required": ["tool"], "additionalProperties": False,
            "properties": {
                "columnKind": {"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
                "tool": {"type": "object", "required": ["driver"], "properties": {"driver": {
                    "type": "object", "required": ["name"], "additionalProperties": False,
                    "properties": {
                        "name": {"type": "string"}, "version": {"type": "string"},
                        "semanticVersion": {"type": "string"},
                        "rules": {"type": "array", "uniqueItems": True, "items": {
                            "type": "object", "required": ["id"], "additionalProperties": False,
                            "properties": {
                                "id": {"type": "string"}, "name": {"type": "string"}, "shortDescription": MESSAGE,
                                "help": MESSAGE, "properties": {"type": "object"},
                            },
                        }},
                    },
                }}},
                "results": {"type": "array", "items": {
                    "type": "object", "required": ["message", "locations"], "additionalProperties": False,
                    "properties": {
                        "ruleId": {"type": "string"}, "ruleIndex": {"type": "integer", "minimum": 0},
                        "kind": {"enum": ["pass", "open", "informational", "notApplicable", "review", "fail"]},
                        "level": {"enum": ["none", "note", "warning", "error"]}, "message": MESSAGE,
                        "partialFingerprints": {"type": "object", "additionalProperties": {"type": "string"}},
                        "properties": {"type": "object"},
                        "locations": {"type": "array", "minItems": 1, "items": {
                            "type": "object", "required": ["physicalLocation"], "properties": {"physicalLocation": {
                                "type": "object", "required": ["artifactLocation"], "properties": {
                                    "artifactLocation": {"type": "object", "properties": {
                                        "uri": {"type": "string", "pattern": r"^[A-Za-z0-9%/._~:@!$&'()*+,;=-]+$"}}},
                                    "region": {"type": "object", "properties": {
                                        "startLine": {"type": "integer", "minimum": 1}}},
                                },
                            }},
                        }},
                    },
                }},
            },
        }},
    },
}  # fmt: skip


@pytest.mark.parametrize(
    "told", [[], [samples.healthy()], [wired()], [hostile()], [samples.unhealthy(), samples.healthy(), wired()]]
)
def test_sarif_keeps_to_its_schema(told: list[Diagnosis]) -> None:
    document = json.loads(render("sarif", *told))
    jsonschema.validate(document, SARIF)
    run = document["runs"][0]
    rules = run["tool"]["driver"]["rules"]
    assert all(rules[result["ruleIndex"]]["id"] == result["ruleId"] for result in run["results"])
    assert len(run["results"]) >= len(told)


def test_sarif_points_at_the_line_and_calls_health_a_pass() -> None:
    sick, well = (json.loads(render("sarif", told))["runs"][0]["results"] for told in (wired(), samples.healthy()))
    place = sick[0]["locations"][0]["physicalLocation"]
    assert (place["artifactLocation"]["uri"], place["region"]["startLine"]) == ("src/train.py", 41)
    assert (sick[0]["kind"], sick[0]["level"]) == ("fail", "error")
    assert [(result["kind"], result["level"]) for result in well] == [("pass", "none")]


def test_junit_is_red_exactly_when_the_verdict_is() -> None:
    whole = ElementTree.fromstring(render("junit", wired(), samples.healthy(), hostile()))
    suites = list(whole)
    assert [suite.get("failures") != "0" for suite in suites] == [True, False, True]
    assert whole.get("tests") == str(len(whole.findall(".//testcase")))
    assert whole.get("skipped") == str(len(whole.findall(".//skipped")))
    gap = suites[0].find("testcase[@name='overfitting-gap']/skipped")
    assert gap is not None
    assert "not measured" in gap.get("message", "")
    assert suites[0].find("testcase[@name='probabilities-as-logits']").get("line") == "41"  # type: ignore[union-attr]


@pytest.mark.parametrize("flag", ["text", "md", "json", "html", "sarif", "github"])
def test_the_line_of_the_cause_is_on_every_surface(flag: str) -> None:
    page = samples.unhealthy()
    first = replace(page.hypotheses[0], where="src/helpers.py:73")
    report = render(flag, replace(page, hypotheses=(first, *page.hypotheses[1:])))
    assert "src/helpers.py" in report
    assert "73" in report.partition("src/helpers.py")[2][:90]


def test_agents_are_told_the_line_of_the_cause() -> None:
    page = samples.unhealthy()
    first = replace(page.hypotheses[0], where="src/helpers.py:73")
    answer = short(replace(page, hypotheses=(first, *page.hypotheses[1:])))
    assert [one["where"] for one in answer["hypotheses"][:2]] == ["src/helpers.py:73", None]
