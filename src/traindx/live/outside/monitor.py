"""Follows a recording while it is being written: where the training stands, and what is confidently wrong so far."""

from __future__ import annotations

import json
import math
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from traindx.measurements import LINE, Measured, from_line

if TYPE_CHECKING:
    from traindx.diagnosis import Diagnosis

SURE = 0.8  # clarity of a fact from which an alert is worth a line,
SURE_OF_CAUSE = 0.65  # and probability of a cause: what was inferred is never said with more than 0.75
LIKELY = 0.45  # of a cause that stays first, ENOUGH looks in a row, while health is out of the question
HARDLY = 0.05
LEAST_STEPS = 20  # before a whole diagnosis is worth its time
EVERY_SECONDS = 2.0  # between whole diagnoses, at least
SHARE = 0.02  # of one core that those may take in the long run; in the first minute they are denser
ENOUGH = 4  # points from looks in a row that agree; a sure one counts twice: one look may catch a training on its way
NOT_YET = ("too-few-epochs",)  # what only the end can tell


@dataclass
class Monitor:
    """Reads what is new with each call of `update`; `alerts` hands out each finding once."""

    folder: Path
    step: int = 0
    loss: float = math.nan
    cost: float | None = None  # share of the time that recording takes
    verdict: str = ""  # of the last whole diagnosis
    began: float = field(default_factory=time.monotonic)
    _offset: int = 0
    _alerted: dict[str, str] = field(default_factory=dict)  # what each said
    _pending: list[str] = field(default_factory=list)
    _first_step: float = 0.0  # when the training was first seen to move
    _next_look: float = 0.0
    _suspect: str = ""  # what the last looks agree on, and how much
    _points: int = 0
    _rest: bytes = b""
    _measured: Measured = field(default_factory=Measured)
    _news: bool = False  # something was measured since it was last judged
    _names: dict[int, list[str]] = field(default_factory=dict)  # lists that rows refer to

    def update(self) -> None:
        """Take in the lines written since the last call."""
        try:
            with (self.folder / "rank-0.jsonl").open("rb") as file:
                file.seek(self._offset)
                data = file.read()
        except OSError:
            return
        self._offset += len(data)
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            try:
                self._take(json.loads(line))
            except ValueError:
                continue

    def _take(self, entry: dict[str, Any]) -> None:
        if entry.get("k") == "names":
            self._names[entry["of"]] = entry["names"]
        elif entry.get("k") == "rows" and entry.get("rows"):
            last = entry["rows"][-1]
            self.step = max(self.step, int(last[0]))
            names = entry["names"] if isinstance(entry["names"], list) else self._names.get(entry["names"], [])
            if "train_loss" in names:
                place = names.index("train_loss") + 1
                self.loss = last[place]
                bad = next((row for row in entry["rows"] if not math.isfinite(row[place])), None)
                if bad is not None:
                    self._tell("nonfinite-loss", f"step {bad[0]:g}: the loss is {bad[place]}")
        elif entry.get("k") == "cost" and isinstance(entry.get("share"), float):
            self.cost = entry["share"]
            self.step = max(self.step, int(entry.get("steps") or 0))
        elif entry.get("k") == LINE:
            found = from_line(entry)
            if found is not None:
                self._measured.add(found)
                self._news = True
        elif entry.get("k") == "fact" and entry.get("present") and entry.get("clarity", 1.0) >= SURE:
            self._tell(entry["id"], f"step {entry.get('step', 0)}: {entry['evidence']}")

    def _tell(self, identifier: str, text: str) -> None:
        if identifier not in self._alerted:
            self._alerted[identifier] = text
            self._pending.append(f"{text} ({identifier})")

    @property
    def health(self) -> str:
        """How the training looks so far, in a few words."""
        if self._alerted:
            return f"{len(self._alerted)} problem{'s' if len(self._alerted) > 1 else ''} found"
        return {"healthy": "healthy so far", "unhealthy": "a problem is likely"}.get(self.verdict, "no problem seen")

    def line(self) -> str:
        """Where the training stands: step, loss, rate, cost of recording, health."""
        rate = self.step / max(time.monotonic() - self.began, 1e-9)
        parts = [f"step {self.step}", f"loss {self.loss:.4g}", f"{rate:.3g} steps/s"]
        if self.cost is not None:
            parts.append(f"recording {self.cost * 100:.1f} %")
        return "  ".join([*parts, self.health])

    def alerts(self) -> list[str]:
        """What became certain since the last call. Now and then the whole recording is diagnosed for it."""
        if self._news:
            self._judge()
        now = time.monotonic()
        if not self._first_step and self.step:
            self._first_step, self._next_look = now, now + EVERY_SECONDS
        if self.step >= LEAST_STEPS and now >= self._next_look:
            cost = self._look()
            self._next_look = now + max(EVERY_SECONDS, min(cost / SHARE, (now - self._first_step) / 2))
        reported, self._pending = self._pending, []
        return reported

    def _judge(self) -> None:
        """What was measured, judged by the same code as the page."""
        from traindx.symptoms import symptoms
        from traindx.symptoms.observed import FromMeasurements
        from traindx.symptoms.ordinary import judged_live

        self._news = False
        for symptom in symptoms().values():
            if symptom.id in self._alerted or not isinstance(symptom.detect, FromMeasurements):
                continue
            if symptom.detect.excuse is not None or not judged_live(self._measured, symptom.id):
                continue  # the page knows whether it does any harm
            try:
                found = symptom.detect.judge(self._measured)
            except (ArithmeticError, ValueError, IndexError):
                continue  # the page says that it could not be measured
            if found is not None and found.state == "present" and found.clarity >= SURE:
                step = f"step {found.steps[0]:g}: " if found.steps else ""
                self._tell(found.id, f"{step}{found.evidence}")

    def _look(self) -> float:
        from traindx.engine import diagnose
        from traindx.errors import TraindxError
        from traindx.opening import read

        began = time.process_time()
        try:
            page = diagnose(read(self.folder)[0])
        except TraindxError:
            return time.process_time() - began
        self.verdict = page.verdict
        self._weigh(page)
        return time.process_time() - began

    def _weigh(self, page: Diagnosis) -> None:
        """Tell what several looks in a row have agreed on."""
        top = page.hypotheses[0]
        healthy = next((one.confidence for one in page.hypotheses if one.cause == "healthy"), 0.0)
        points = 0
        if page.verdict == "unhealthy" and top.cause not in ("healthy", "other", *NOT_YET):
            points = 2 if top.confidence >= SURE_OF_CAUSE else 1 if top.confidence >= LIKELY and healthy < HARDLY else 0
        self._points = (self._points if top.cause == self._suspect else 0) + points if points else 0
        self._suspect = top.cause
        if self._points >= ENOUGH:
            said = f"step {self.step}: likely cause ({top.confidence * 100:.0f} %): {top.title}"
            known = any(page.headline in text for text in self._alerted.values())  # what was seen had its own alert
            self._tell(top.cause, said if known else f"{said}. {page.headline}")
