"""SARIF 2.1.0, for code scanning and editors: a rule a cause or symptom, a result a finding."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from traindx.diagnosis import Diagnosis
from traindx.reporters.base import Reporter
from traindx.reporters.findings import Finding, findings
from traindx.reporters.json import inert
from traindx.version import __version__

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
VERSION = "2.1.0"


def render(diagnoses: Sequence[Diagnosis], *, color: bool, width: int) -> str:
    """One SARIF run with all results (colour and width do not matter). What is healthy has a result of kind `pass`."""
    found = [finding for diagnosis in diagnoses for finding in findings(diagnosis)]
    rules = list(dict.fromkeys((finding.kind, finding.rule) for finding in found))
    driver = {
        "name": "traindx",
        "version": __version__,
        "semanticVersion": __version__,
        "rules": [_rule(kind, rule) for kind, rule in rules],
    }
    results = [_result(finding, rules.index((finding.kind, finding.rule))) for finding in found]
    document = {
        "$schema": SCHEMA,
        "version": VERSION,
        "runs": [{"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}],
    }
    return inert(json.dumps(document, ensure_ascii=False, allow_nan=False, indent=2)) + "\n"


def _rule(kind: str, rule: str) -> dict[str, Any]:
    from traindx.reporters.catalogue import pages_of, titles

    title = titles().get(rule, rule)
    description: dict[str, Any] = {"id": rule, "name": _pascal(rule), "shortDescription": {"text": title}}
    pages = pages_of(rule)
    if pages:
        description["help"] = {"text": f"traindx explain {rule}", "markdown": "\n\n---\n\n".join(pages)}
    return {**description, "properties": {"tags": ["training", kind]}}


def _pascal(rule: str) -> str:
    return "".join(word.capitalize() for word in rule.split("-"))


def _result(finding: Finding, rule: int) -> dict[str, Any]:
    verdict = finding.kind == "verdict"
    properties: dict[str, Any] = {"run": finding.run}
    if finding.confidence is not None:
        properties["confidence"] = round(finding.confidence, 4)
    return {
        "ruleId": finding.rule,
        "ruleIndex": rule,
        "kind": {"healthy": "pass", "inconclusive": "open"}.get(finding.rule, "fail") if verdict else "fail",
        "level": "none" if verdict else finding.level,  # SARIF 3.27.10: what is no failure has no level
        "message": {"text": "\n".join((finding.title, *finding.lines))},
        "locations": [{"physicalLocation": _location(finding)}],
        "partialFingerprints": {"traindx/v1": _fingerprint(finding)},
        "properties": properties,
    }


def _location(finding: Finding) -> dict[str, Any]:
    """The line in the user's code, else the log itself: code scanning refuses a result without a place."""
    place = finding.file if finding.file is not None else finding.source
    return {"artifactLocation": {"uri": _uri(place)}, "region": {"startLine": finding.line or 1}}


def _uri(path: str) -> str:
    if os.path.isabs(path):
        here = os.getcwd()
        if not path.startswith(here + os.sep):
            return Path(path).as_uri()
        path = os.path.relpath(path, here)
    return quote(path.replace(os.sep, "/"), errors="replace")


def _fingerprint(finding: Finding) -> str:
    """The same problem of the same run keeps its identity when its numbers move a little."""
    sentence = "\0".join((finding.kind, finding.rule, finding.file or finding.source, finding.run))
    return hashlib.sha256(sentence.encode("utf-8", "replace")).hexdigest()[:32]


REPORTER = Reporter("sarif", "sarif", "SARIF 2.1.0, for code scanning", (".sarif",), render)
