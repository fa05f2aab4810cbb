"""JUnit XML: a suite a run, a test a symptom. What is not measured is skipped, never passed."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree import ElementTree

from traindx.diagnosis import Diagnosis, Observation
from traindx.reporters.base import Reporter
from traindx.reporters.findings import findings, severe, source_line
from traindx.reporters.wording import clean, placed, run_name

DIAGNOSIS = "diagnosis"  # the test that stands for the verdict itself


def render(diagnoses: Sequence[Diagnosis], *, color: bool, width: int) -> str:
    """Failures only where the verdict is unhealthy, so that a report is red exactly when the exit code is 1."""
    suites = [_suite(diagnosis) for diagnosis in diagnoses]
    whole = ElementTree.Element("testsuites", _counts(suites, "traindx"))
    whole.extend(suites)
    ElementTree.indent(whole)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ElementTree.tostring(whole, encoding="unicode")}\n'


def _counts(elements: Sequence[ElementTree.Element], name: str) -> dict[str, str]:
    sums = {
        kind: str(sum(int(e.get(kind, "0")) for e in elements)) for kind in ("tests", "failures", "errors", "skipped")
    }
    return {"name": name, **sums}


def _suite(diagnosis: Diagnosis) -> ElementTree.Element:
    cases = [_verdict(diagnosis), *(_case(diagnosis, symptom) for symptom in diagnosis.symptoms)]
    suite = ElementTree.Element("testsuite", {
        "name": run_name(diagnosis), "tests": str(len(cases)), "errors": "0",
        "failures": str(sum(case.find("failure") is not None for case in cases)),
        "skipped": str(sum(case.find("skipped") is not None for case in cases)),
    })  # fmt: skip
    suite.extend(cases)
    return suite


def _verdict(diagnosis: Diagnosis) -> ElementTree.Element:
    case = ElementTree.Element("testcase", {"classname": run_name(diagnosis), "name": DIAGNOSIS})
    first = findings(diagnosis)[0]
    text = "\n".join((first.title, *first.lines))
    if diagnosis.verdict == "unhealthy":
        ElementTree.SubElement(case, "failure", {"type": first.rule, "message": first.title}).text = text
    elif diagnosis.verdict == "inconclusive":
        ElementTree.SubElement(case, "skipped", {"message": clean(diagnosis.headline)})
    else:
        ElementTree.SubElement(case, "system-out").text = text
    return case


def _case(diagnosis: Diagnosis, symptom: Observation) -> ElementTree.Element:
    case = ElementTree.Element("testcase", {"classname": run_name(diagnosis), "name": clean(symptom.id)})
    file, line = source_line(symptom.where)
    if file is not None:
        case.attrib |= {"file": file, "line": str(line)}
    text = placed(symptom, diagnosis.run.axis)
    if symptom.state == "unknown":
        ElementTree.SubElement(case, "skipped", {"message": f"not measured: {text}"})
    elif symptom.state == "present" and diagnosis.verdict == "unhealthy" and severe(symptom):
        ElementTree.SubElement(case, "failure", {"type": "symptom", "message": text})
    else:
        ElementTree.SubElement(case, "system-out").text = text
    return case


REPORTER = Reporter("junit", "junit", "JUnit XML, for CI servers", (".xml",), render)
