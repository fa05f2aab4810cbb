"""The API reference, made from signatures and docstrings without importing anything:

python -m traindx.reporters.api docs            writes docs/api.md
python -m traindx.reporters.api --check docs    exits 1 when it is not up to date
"""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Sequence
from pathlib import Path

from traindx.reporters import fresh
from traindx.reporters.pages import made_by_us

PACKAGE = Path(__file__).parents[1]
# what is public, by subject: module:name as it is defined, and the name it is imported by
PUBLIC: dict[str, tuple[tuple[str, str], ...]] = {
    "Record, probe, compare": (
        ("live.outside.watching:watch", "traindx.watch"),
        ("live.outside.watching:Watch", "what `traindx.watch` gives"),
        ("probes.python:probe", "traindx.probe"),
        ("probes.python:Probing", "what `traindx.probe` gives"),
        ("fleet:compare", "traindx.compare"),
        ("fleet:Comparison", "what `traindx.compare` gives"),
    ),
    "Test a model": (
        ("testing:assert_trains", "traindx.testing.assert_trains"),
        ("testing:assert_overfits", "traindx.testing.assert_overfits"),
        ("testing:assert_gradients_reach", "traindx.testing.assert_gradients_reach"),
        ("testing:assert_no_leak", "traindx.testing.assert_no_leak"),
    ),
    "Read and diagnose": (
        ("opening:read", "traindx.read"),
        ("opening:diagnose", "traindx.diagnose"),
        ("signals:Settings", "traindx.signals.Settings"),
        ("reporters:reporters", "traindx.reporters.reporters"),
        ("interview.flow:start", "traindx.interview.start"),
        ("interview.flow:Session", "traindx.interview.Session"),
    ),
    "What they give": (
        ("run:Run", "traindx.run.Run"),
        ("run:Series", "traindx.run.Series"),
        ("run:Fact", "traindx.run.Fact"),
        ("diagnosis:Diagnosis", "traindx.diagnosis.Diagnosis"),
        ("diagnosis:Hypothesis", "traindx.diagnosis.Hypothesis"),
        ("diagnosis:Observation", "traindx.diagnosis.Observation"),
        ("diagnosis:FixProposal", "traindx.diagnosis.FixProposal"),
        ("diagnosis:Missing", "traindx.diagnosis.Missing"),
        ("errors:TraindxError", "traindx.errors.TraindxError"),
    ),
    "Units of the catalogue": (
        ("symptoms.base:Symptom", "traindx.symptoms.base.Symptom"),
        ("causes.base:Cause", "traindx.causes.base.Cause"),
        ("fixes.base:Fix", "traindx.fixes.base.Fix"),
        ("readers.base:Reader", "traindx.readers.base.Reader"),
        ("reporters.base:Reporter", "traindx.reporters.base.Reporter"),
    ),
}  # fmt: skip
INTRODUCTION = """# API reference

What programs may rely on, besides the command line and the JSON schemas. `import traindx` loads neither torch nor numpy; what needs
them loads them when it is asked for. Callbacks for frameworks: [frameworks](frameworks.md)."""  # noqa: E501


def files() -> dict[str, str]:
    parts = [made_by_us(INTRODUCTION)]
    for subject, names in PUBLIC.items():
        parts.append(f"## {subject}")
        parts += [_entry(where, name) for where, name in names]
    return {"api.md": "\n\n".join(parts) + "\n"}


def main(arguments: Sequence[str]) -> int:
    return fresh.run(arguments, "traindx.reporters.api", files, ())


def _entry(where: str, name: str) -> str:
    module, _, wanted = where.partition(":")
    node = _definition(module, wanted)
    heading = f"### {wanted}\n\n`{name}`" if " " not in name else f"### {wanted}\n\n{name}"
    if isinstance(node, ast.ClassDef):
        return "\n\n".join([heading, _doc(node), *_members(node)])
    return "\n\n".join([heading, _block(node), _doc(node)])


def _definition(module: str, wanted: str) -> ast.ClassDef | ast.FunctionDef:
    path = PACKAGE.joinpath(*module.split("."))
    source = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    for node in ast.parse(source.read_text("utf-8")).body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name == wanted:
            return node
    raise LookupError(f"{source} defines no {wanted}; the list in {__name__} names it")


def _members(node: ast.ClassDef) -> list[str]:
    """Fields as they are written, then public methods with their docstrings."""
    fields = [
        ast.unparse(member)
        for member in node.body
        if isinstance(member, ast.AnnAssign)
        and isinstance(member.target, ast.Name)
        and not member.target.id.startswith("_")
    ]
    parts = ["\n".join(["```python", *fields, "```"])] if fields else []
    for member in node.body:
        if isinstance(member, ast.FunctionDef) and not member.name.startswith("_") and ast.get_docstring(member):
            parts.append(f"{_block(member)}\n\n{_doc(member)}")
    return parts


def _block(node: ast.FunctionDef | ast.ClassDef) -> str:
    assert isinstance(node, ast.FunctionDef)
    decorators = [f"@{ast.unparse(decorator)}" for decorator in node.decorator_list]
    result = f" -> {ast.unparse(node.returns)}" if node.returns is not None else ""
    return "\n".join(["```python", *decorators, f"{node.name}({ast.unparse(node.args)}){result}", "```"])


def _doc(node: ast.FunctionDef | ast.ClassDef) -> str:
    return inspect.cleandoc(ast.get_docstring(node) or "").replace("<", "&lt;")


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
