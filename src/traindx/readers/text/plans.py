"""The plan of a line template: which numbers are kept, what they are called, which ones count."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

from traindx.meaning import Meaning, Split
from traindx.readers.text.counters import Counter
from traindx.readers.text.keys import COMPANIONS, OBJECTIVES, in_english
from traindx.readers.text.lines import Prefix


@dataclass(frozen=True, slots=True)
class Column:
    """One quantity of a line: the number at `index` times `scale`, or a share `index`/`over`, or a duration whose parts
    stand at `clock`; `average` is the position of the running average in brackets, where both are kept."""

    name: str
    meaning: Meaning
    index: int
    scale: float = 1.0
    over: int | None = None
    clock: tuple[int, ...] = ()
    average: int | None = None
    split: Split = ""

    @property
    def indices(self) -> tuple[int, ...]:
        if self.clock:
            return self.clock
        return tuple(place for place in (self.index, self.over, self.average) if place is not None)

    @property
    def objective(self) -> bool:
        return self.meaning.kind in OBJECTIVES

    @property
    def data(self) -> Split:
        """What it was measured on, by its own name or by the words around it."""
        return self.meaning.split or self.split


@dataclass(frozen=True, slots=True)
class Plan:
    """How to read every line of one template. `item` names what the line is about where it is one of many ('class 3');
    `reported` marks lines that repeat what another line measured ('saved best model, loss 0.3'); `header` marks lines
    that only count ('Epoch 3/50') and so say where the lines after them belong; `prose` counts the words that are no
    name."""

    columns: tuple[Column, ...]
    step: Counter | None = None
    epoch: Counter | None = None
    batch: Counter | None = None
    item: tuple[str, int] | None = None
    split: Split = ""
    label: str = ""
    stated: bool = False
    bar: bool = False
    header: bool = False
    prose: int = 0
    prefix: Prefix = field(default_factory=Prefix)
    ident: str = ""

    @property
    def objective(self) -> bool:
        return any(column.objective for column in self.columns)

    @property
    def companion(self) -> bool:
        return any(column.meaning.kind in COMPANIONS for column in self.columns)

    @property
    def counters(self) -> tuple[Counter, ...]:
        return tuple(counter for counter in (self.step, self.epoch, self.batch) if counter is not None)


def slots(plan: Plan) -> tuple[int, ...]:
    """The positions of all numbers a plan keeps, in a fixed order: the columns', the counters', the item's."""
    places = [index for column in plan.columns for index in column.indices]
    for counter in plan.counters:
        places.append(counter.index)
        if counter.total is not None:
            places.append(counter.total)
    if plan.item is not None:
        places.append(plan.item[1])
    return tuple(places)


def identity(line: str, plan: Plan) -> str:
    """Lines of one identity are one series of measurements. With a counter the names decide; without, all words do."""
    names = ",".join(f"{column.split}/{column.name}" for column in plan.columns)
    roles = ",".join(
        f"{counter.role}{'' if counter.total is None else '/'}{counter.scale:g}" for counter in plan.counters
    )
    shape = ",".join(
        f"{'/' if column.over is not None else len(column.clock)}{column.scale:g}"
        f"{'' if column.average is None else '()'}"
        for column in plan.columns
    )
    if plan.counters and plan.columns:
        label = plan.label if len(plan.label.split()) <= 3 else ""
        return f"{names}|{roles}|{shape}|{plan.split}|{plan.stated}|{plan.item is not None}|{label}"
    words = re.sub(r"\s+", " ", re.sub(r"\S*\d\S*", "0", in_english(line[plan.prefix.end :][:1000])))
    return f"{names}|{roles}|{shape}|{words[:200]}"


def settle_columns(columns: list[Column], split: Split) -> tuple[list[Column], Split]:
    """The columns of a whole line once all of it is known, and the data the line as a whole speaks of."""
    columns = _separate(_in_context(_paired(columns)))
    spoken = [column.meaning.split for column in columns if column.objective]
    # 'Validation pixAcc: 0.5, mIoU: 0.3': what follows a validation score is one too, if no other split is named and
    # it is not the training's twin of it ('val_loss 0.5 loss 0.3')
    said = {(column.meaning.kind, column.meaning.part) for column in columns if column.meaning.split}
    twin = any(
        (column.meaning.kind, column.meaning.part) in said for column in columns if column.objective and not column.data
    )
    if split or twin or not spoken or spoken[0] not in ("val", "test") or not set(spoken) <= {"", spoken[0]}:
        return columns, split
    return [replace(c, split=spoken[0]) if c.objective and not c.data else c for c in columns], spoken[0]


def _paired(columns: list[Column]) -> list[Column]:
    """'v_loss' beside 'loss', or beside 't_loss', is the validation one, and the other the training's."""
    names = {column.name.lower() for column in columns}
    pairs = {name[2:] for name in names if name.startswith("v_") and {name[2:], f"t_{name[2:]}"} & names}
    if not pairs:
        return columns
    paired: list[Column] = []
    for column in columns:
        name = column.name.lower()
        letter = name[:2] if name[:2] in ("v_", "t_") else ""
        if name[len(letter) :] in pairs and not column.data:
            column = replace(column, split="val" if letter == "v_" else "train")
        paired.append(column)
    return paired


def _in_context(columns: list[Column]) -> list[Column]:
    """Short names that the rest of the line explains: beside a KL term 'Rec' is a reconstruction loss, not a recall,
    and 'Total' beside a loss is the whole of it."""
    has_kl = any(column.meaning.kind == "kl" or "kl" in column.name.lower().split() for column in columns)
    explained: list[Column] = []
    for column in columns:
        if has_kl and column.name.lower() in ("rec", "recon", "rc"):
            column = replace(column, meaning=Meaning("loss", column.meaning.split, "min", "rec"))
        explained.append(column)
    if any(column.meaning.kind == "loss" for column in explained):
        whole = Meaning("loss", "", "min")
        explained = [
            replace(c, meaning=whole) if c.name.lower() == "total" and c.meaning.kind == "other" else c
            for c in explained
        ]
    return explained


def _separate(columns: list[Column]) -> list[Column]:
    """Names said twice in one line take the split of the name before them ('train loss 1 acc 2 val loss 3 acc 4'), or
    else a number."""
    if len({(column.name, column.data) for column in columns}) == len(columns):
        return columns
    seen: dict[tuple[str, str], int] = {}
    current: Split = ""
    apart: list[Column] = []
    for column in columns:
        current = column.meaning.split or current
        if not column.data and column.objective:
            column = replace(column, split=current)
        key = (column.name, column.data)
        seen[key] = seen.get(key, 0) + 1
        if seen[key] > 1:
            column = replace(column, name=f"{column.name} ({seen[key]})")
        apart.append(column)
    return apart
