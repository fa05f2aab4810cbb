"""The skill for agents, made from the catalogue: SKILL.md and a reference for each cause.

python -m traindx.reporters.skill skills/traindx            writes them
python -m traindx.reporters.skill --check skills/traindx    exits 1 when they are not up to date
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from itertools import groupby

from traindx.reporters import fresh
from traindx.reporters.markdown import block, language_of, row
from traindx.reporters.pages import Kind, cause_page
from traindx.version import __version__

OWNED = ("references/*.md",)
DESCRIPTION = (
    "Find out why a neural-network training fails and prove the fix, with measured evidence instead of guesses. Use "
    "when a training "
    "does not learn, the loss is NaN or Inf, stuck, flat, at chance level, oscillating, spiking or diverging, when "
    "gradients "
    "explode, vanish or do not reach a layer, when validation is much worse than training, when training is slow, or "
    "before "
    "changing a learning rate, optimizer, batch size or model because results are poor. Reads training logs and run "
    "directories "
    "(TensorBoard, W&B, MLflow, Hugging Face, Lightning, Keras, YOLO, CSV, JSON, plain text), checkpoints and PyTorch "
    "scripts."
)
HEAD = f"""---
name: traindx
description: >-
  {DESCRIPTION}
license: Apache-2.0
compatibility: Needs the traindx command (pip install traindx) or its MCP server (traindx mcp); PyTorch for run, probe and trials.
metadata:
  version: "{__version__}"
---
"""  # noqa: E501
BODY = """
# Why a training fails

Measure, then name the cause, then change one thing, then prove it. Never start with a learning rate, an optimizer or more
epochs: those are the most suggested answers and often the wrong ones. What was not measured is unknown, not fine.

Every step below works with the MCP tools of the server `traindx` and, without it, with the command of the same name.

## 1. Ask what is seen

{complaints}

Then get, without waiting for all of it: the log or run directory, the script, the settings (learning rate, optimizer, batch
size, schedule, precision), whether it ever worked. With nothing but the user's answers, the tool `ask` (`traindx ask`) leads the
interview and asks what decides most first.

## 2. Look at the evidence there is

| there is | tool | command |
|---|---|---|
| a log, a run directory, a recording | `diagnose` with `path` | `traindx diagnose PATH --format json` |
| several runs, some good | `compare` | `traindx compare GOOD BAD` |
| a PyTorch script that may be run | `probe` with `path` | `traindx probe train.py` |
| a script, and time for a few hundred steps | – | `traindx run --steps 300 train.py` |
| a checkpoint only | – | `traindx checkpoint FILE` |

`probe`, `run` and trials run the user's code: ask first. Probes change nothing; they answer whether the model can learn one
batch, whether gradients reach every layer, where units are dead or saturated, which learning rates work, where the time goes.

## 3. Read the answer

- `unhealthy`: act on the first cause, if it has 40 % or more. Quote its evidence, for and against.
- `inconclusive`: change nothing. `missing` names the evidence that decides and how to get it; get it and diagnose again.
- `healthy`: say so, and what was not measured. Do not look for problems to fix.

Before acting, open the cause's reference (below) or `explain` it: look-alikes with the one observation that separates them, and
what NOT to do.

## 4. Report it like this

```text
Most likely (82 %): learning rate too high (lr-too-high)
  for:      loss left its best at step 97 and never returned; update/weight ratio 0.31 (healthy 1e-4 to 1e-2)
  against:  gradient norm is calm until step 90
  fix:      lr = 3e-4, was 1e-2
  do not:   add clipping first: it hides the overshoot and keeps the cause
Else: corrupt-samples 11 %, warmup-missing 4 %
Not measured: validation loss, so overfitting is unknown
```

## 5. Change one thing and prove it

`trial` (`traindx fix train.py`) applies the fix to a copy, runs the original and the copy for the same short time and says
whether the symptoms are gone. Without it: change one thing, run a few hundred steps, `compare` with the run before. A fix that
does not clear its symptoms was the wrong one: take it back and go to the next cause.

## What people say, and what it usually is

{said}

## Shortest ways

{branches}

## Not a problem of learning

{beyond}

## Causes

Each has a reference with what one sees, why, look-alikes, fixes with code, and what not to do.

{causes}
"""  # noqa: E501


def files() -> dict[str, str]:
    """Every file of the skill, by its path in the skill's folder."""
    from traindx import misdiagnoses as sentence
    from traindx.causes import causes

    complaints = _table(("the user says", "symptoms"), ((c.title, _ids(c.symptoms)) for c in sentence.COMPLAINTS))
    said = _table(
        ("said", "usually", "how to tell"), ((m.says, m.usually, m.check) for m in sentence.misdiagnoses())
    )  # fmt: skip
    branches = _table(
        ("of", "question", "if so", "first fix"),
        ((b.tree, b.question, ", ".join(map(_reference, b.causes)), f"`{b.fix}`") for b in sentence.BRANCHES),
    )
    beyond = _table(("what", "how it shows", "where to go"), ((h.what, h.signs, h.go_to) for h in sentence.HAND_OVERS))
    listed: list[str] = []
    for group, members in groupby(sorted(causes().values(), key=lambda c: (c.group, c.id)), key=lambda c: c.group):
        listed.append(f"- {group}: {', '.join(_reference(cause.id) for cause in members)}")
    body = BODY.format(complaints=complaints, said=said, branches=branches, beyond=beyond, causes="\n".join(listed))
    found = {f"references/{cause.id}.md": _cause_file(cause.id) for cause in causes().values()}
    return {"SKILL.md": f"{HEAD}{body}", **found}


def main(arguments: Sequence[str]) -> int:
    return fresh.run(arguments, "traindx.reporters.skill", files, OWNED)


def _cause_file(identifier: str) -> str:
    """The cause's page with the code of its fixes, since an agent may have nothing but this file."""
    from traindx.causes import causes
    from traindx.fixes import fixes

    cause = causes()[identifier]
    parts = [cause_page(cause, _link)]
    shown = [fixes()[name] for name in cause.fixes if name in fixes()]
    if shown:
        parts.append("## Code of the fixes")
    for fix in shown:
        code = fix.proposal({}).code
        parts.append(f"### `{fix.id}`: {fix.title}\n\n{block(code.split(chr(10)), language_of(code))}")
    return "\n\n".join(part.rstrip() for part in parts) + "\n"


def _link(kind: Kind, identifier: str) -> str:
    """References exist for causes only; everything else is an id for `explain`."""
    from traindx.causes import causes

    known = kind == "causes" and identifier in causes()
    return f"[`{identifier}`]({identifier}.md)" if known else f"`{identifier}`"


def _reference(identifier: str) -> str:
    return f"[{identifier}](references/{identifier}.md)"


def _ids(identifiers: Sequence[str]) -> str:
    return ", ".join(f"`{identifier}`" for identifier in identifiers)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    return "\n".join([row(*head), row(*("---" for _ in head)), *(row(*one) for one in rows)])


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
