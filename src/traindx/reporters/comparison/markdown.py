"""The comparison as Markdown, for an issue or a pull request."""

from __future__ import annotations

from traindx.comparison.result import Comparison
from traindx.reporters.comparison import parts
from traindx.reporters.markdown import escaped, row


def as_markdown(comparison: Comparison) -> str:
    blocks = [f"## traindx compare: {escaped(parts.title(comparison))}"]
    if comparison.versus is not None:
        blocks.append(f"**Did it help?** {escaped(parts.helped(comparison.versus))}")
        blocks.append("\n".join(f"- {label}: {escaped(text)}" for label, text in parts.versus_lines(comparison.versus)))
    blocks.append(_table(parts.run_table(comparison)))
    if comparison.groups:
        blocks += ["**Seeds**", _table(parts.group_table(comparison))]
    blocks.append(f"**What explains it:** {escaped(parts.explained(comparison))}")
    if comparison.explanations:
        stated = [
            f"- **{escaped(one.setting)}** ({one.verdict}): {escaped(parts.explanation(one))}"
            for one in comparison.explanations
        ]
        blocks.append("\n".join(stated))
    ends = [*(d.sentence for d in comparison.descents), f"Aligned {parts.aligned(comparison)}", *comparison.notes]
    ends += [f"Not read: {problem}" for problem in comparison.unreadable[:50]]
    blocks.append("\n".join(f"- {escaped(text)}" for text in ends))
    return "\n\n".join(blocks) + "\n"


def _table(rows: list[list[str]]) -> str:
    head, *body = [[escaped(cell) for cell in line] for line in rows]
    return "\n".join([row(*head), "|" + "---|" * len(head), *(row(*line) for line in body)])
