"""Fits what symptoms say about causes on the zoo, calibrates the confidences and scores both on what was left out.

    python benchmarks/zoo/fit.py RESULTS… [--write] [--plot docs/images/reliability.png] [--verbose]

RESULTS are the results.jsonl (or .gz) that make.py wrote. Every figure is of specimens whose whole task (or whole
optimiser) was left out, both from the counts and from the calibration. `--write` puts the counts of all specimens and
the calibration into src/traindx/engine/fitted.json, with the reliability of the confidences; `--plot` draws that. What
sound programs of other people showed stays; benchmarks/wild/fit.py calibrates recordings on them afterwards."""

from __future__ import annotations

import argparse
import json
import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from labels import Specimen, specimens

from traindx.engine import judge
from traindx.engine.fitted import CURVE, INSIDE, SCHEMA, Level, levels
from traindx.engine.rank import HEALTHY, OTHER, Ranked, quiet, rank

ROOT = Path(__file__).resolve().parents[2]
FITTED = ROOT / "src" / "traindx" / "engine" / "fitted.json"
PARTS = 5  # groups of tasks
BINS = 10
FITTED_AS = {"curve": CURVE, "trace": CURVE, "live": INSIDE, "probes": INSIDE}
CALIBRATED_ON = {CURVE: "curve", INSIDE: "live"}  # the specimens that the product's calibration of a level is fitted on
RAW = Level(silence=0.0, ceiling=1.0)


@dataclass
class Case:
    """One specimen at one level: the log weights before calibration, and how silent the evidence is."""

    specimen: Specimen
    level: str
    names: list[str]
    weights: np.ndarray
    quiet: float

    def ranked(self, calibration: Level) -> list[Ranked]:
        """As the engine ranks with this calibration."""
        weights = self.weights.copy()
        fault = np.array([name != HEALTHY for name in self.names])
        weights[fault] += calibration.silence * self.quiet
        weights[~fault] += calibration.healthy
        chances = np.exp((weights - weights.max()) / calibration.temperature)
        chances /= chances.sum()
        first = int(np.argmax(chances))
        if self.names[first] not in (HEALTHY, OTHER) and chances[first] > calibration.ceiling:
            chances[self.names.index(OTHER)] += chances[first] - calibration.ceiling
            chances[first] = calibration.ceiling
        pairs = sorted(zip(self.names, chances.tolist(), strict=True), key=lambda pair: -pair[1])
        return [Ranked(name, chance) for name, chance in pairs]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path, nargs="+")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--plot", type=Path)
    parser.add_argument("--verbose", action="store_true")
    arguments = parser.parse_args()
    known = list(specimens(arguments.results))
    print(
        f"{len(known)} specimens: "
        + ", ".join(f"{sum(s.kind == k for s in known)} {k}" for k in ("healthy", "fault", "harmless", "pair"))
    )
    drawn = {}
    for key in ("task", "optimizer"):
        print(f"\nleft out: whole {key}s" if key == "task" else "\nleft out: whole optimisers")
        print(HEADER)
        for level in ("curve", "live", "probes"):
            answers = left_out(known, level, key)
            if answers:
                print(row(level, answers))
                drawn.setdefault(level, reliability(answers))
                if arguments.verbose and key == "task":
                    print(details(level, answers))
    if arguments.plot:
        draw(drawn, arguments.plot)
    if arguments.write:
        write(known)


def left_out(known: Sequence[Specimen], level: str, key: str) -> list[tuple[Specimen, list[Ranked]]]:
    """Every specimen, ranked by what the other tasks (or optimisers) taught."""
    values = sorted({getattr(s, key) for s in known})
    parts = [set(values[i::PARTS]) for i in range(PARTS)] if key == "task" else [{value} for value in values]
    fitted = FITTED_AS[level]
    levels = {level, CALIBRATED_ON[fitted]}
    cases: list[dict[str, list[Case]]] = []
    for part in parts:
        counts = count([s for s in known if getattr(s, key) not in part], fitted)
        held = [s for s in known if getattr(s, key) in part]
        cases.append({name: [weighed(s, name, counts) for s in held if name in s.evidence] for name in levels})
    answers = []
    for index, group in enumerate(cases):
        others = [c for other in range(len(cases)) if other != index for c in cases[other][CALIBRATED_ON[fitted]]]
        calibration = calibrated(others)
        answers += [(case.specimen, case.ranked(calibration)) for case in group[level]]
    return answers


def count(known: Sequence[Specimen], level: str) -> Level:
    """Counts of what single faults that did damage, and healthy trainings, showed."""
    counts: dict[str, dict[str, tuple[int, int]]] = defaultdict(dict)
    for specimen in known:
        if specimen.kind not in ("healthy", "fault"):
            continue
        row = counts[specimen.causes[0] if specimen.causes else HEALTHY]
        for name in ("curve",) if level == CURVE else ("probes", "live"):
            if name in specimen.evidence:
                for symptom, present, _ in specimen.evidence[name]["observations"]:
                    before = row.get(symptom, (0, 0))
                    row[symptom] = (before[0] + 1, before[1] + int(present))
                break
    return replace(RAW, counts=dict(counts))


def weighed(specimen: Specimen, level: str, counts: Level) -> Case:
    observations = specimen.observations(level)
    unfamiliar = specimen.evidence[level]["unfamiliar"]
    ranked = rank(observations, specimen.hints(level), unfamiliar=unfamiliar, level=counts)
    names = [entry.cause for entry in ranked]
    return Case(specimen, level, names, np.array([entry.log_weight for entry in ranked]), quiet(observations))


def calibrated(cases: Sequence[Case]) -> Level:
    """Temperature, weight of health, silence and ceiling under which the truth was likeliest, by steps along each in
    turn."""
    usable = [case for case in cases if case.specimen.kind != "pair"]
    best = replace(RAW, temperature=1.2, silence=math.log(0.3), ceiling=0.95)
    score = surprise(usable, best)
    steps = {"temperature": 0.4, "healthy": 0.8, "silence": 0.6, "ceiling": 0.02}
    for _ in range(12):
        for name, step in steps.items():
            for way in (step, -step):
                tried = replace(best, **{name: getattr(best, name) + way})
                if not (0.3 < tried.temperature < 6 and 0.5 < tried.ceiling <= 0.99 and tried.silence <= 0):
                    continue
                value = surprise(usable, tried)
                if value < score - 1e-6:
                    best, score = tried, value
                    break
        steps = {name: step * 0.7 for name, step in steps.items()}
    return best


def surprise(cases: Sequence[Case], calibration: Level) -> float:
    total = 0.0
    for case in cases:
        chances = {entry.cause: entry.probability for entry in case.ranked(calibration)}
        total -= math.log(max(sum(chances.get(name, 0.0) for name in case.specimen.right), 1e-6))
    return total / max(len(cases), 1)


HEADER = (
    "| evidence | faults | cause first | in first three | visible | first of visible | in three of visible | healthy | "
    "called "
    "unhealthy | inconclusive | calibration error |\n|---|---|---|---|---|---|---|---|---|---|---|"
)


def row(level: str, answers: Sequence[tuple[Specimen, list[Ranked]]]) -> str:
    faults = [(s, r) for s, r in answers if s.kind == "fault"]
    visible = [(s, r) for s, r in faults if s.visible(level)]
    healthy = [judge(s.observations(level), r) for s, r in answers if s.kind == "healthy"]
    return (
        f"| {level} | {len(faults)} | {share(faults, level, 1)} | {share(faults, level, 3)} | {len(visible)} | "
        f"{share(visible, level, 1)} "
        f"| {share(visible, level, 3)} | {len(healthy)} | {percent(healthy.count('unhealthy'), len(healthy))} "
        f"| {percent(healthy.count('inconclusive'), len(healthy))} | {calibration_error(answers):.3f} |"
    )


def share(answers: Sequence[tuple[Specimen, list[Ranked]]], level: str, within: int) -> str:
    right = sum(correct(s, r, level, within) for s, r in answers)
    return percent(right, len(answers))


def percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.0f} %" if whole else "-"


def correct(specimen: Specimen, ranked: list[Ranked], level: str, within: int) -> bool:
    """A right cause among the first, in a training that was not called healthy."""
    first = [entry.cause for entry in ranked if entry.cause not in (HEALTHY, OTHER)][:within]
    return bool(specimen.right & set(first)) and judge(specimen.observations(level), ranked) != "healthy"


def reliability(answers: Sequence[tuple[Specimen, list[Ranked]]]) -> list[tuple[float, float, int]]:
    """Mean confidence, share of right answers and number, by tenth of confidence in the first explanation."""
    pairs = []
    for specimen, ranked in answers:
        if specimen.kind != "pair":
            top = next(entry for entry in ranked if entry.cause != OTHER)
            pairs.append((top.probability, top.cause in specimen.right))
    table = []
    for index in range(BINS):
        inside = [pair for pair in pairs if min(int(pair[0] * BINS), BINS - 1) == index]
        if inside:
            table.append(
                (float(np.mean([p for p, _ in inside])), float(np.mean([ok for _, ok in inside])), len(inside))
            )
    return table


def calibration_error(answers: Sequence[tuple[Specimen, list[Ranked]]]) -> float:
    table = reliability(answers)
    total = sum(number for _, _, number in table)
    return sum(number * abs(said - right) for said, right, number in table) / max(total, 1)


def draw(tables: dict[str, list[tuple[float, float, int]]], path: Path) -> None:
    """Said against right, a panel for each level; the number of answers under each point."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    titles = {"curve": "from a log", "live": "from a recording"}
    figure, axes = pyplot.subplots(1, len(titles), figsize=(8, 4), sharey=True)
    for axis, (level, title) in zip(axes, titles.items(), strict=True):
        said, right, number = zip(*tables[level], strict=True)
        axis.plot([0, 1], [0, 1], color="0.7", linewidth=1)
        axis.plot(said, right, marker="o", color="#1f6feb")
        for x, y, count in zip(said, right, number, strict=True):
            axis.annotate(str(count), (x, y), xytext=(5, -12), textcoords="offset points", fontsize=7, color="0.35")
        axis.set(title=title, xlabel="confidence in the first explanation", xlim=(0, 1), ylim=(0, 1))
    axes[0].set_ylabel("share of right answers")
    figure.tight_layout()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)


def details(level: str, answers: Sequence[tuple[Specimen, list[Ranked]]]) -> str:
    lines = [
        "  said/right/number: "
        + " ".join(f"{said:.2f}/{right:.2f}/{number}" for said, right, number in reliability(answers))
    ]
    by_cause: dict[str, list[bool]] = defaultdict(list)
    for specimen, ranked in answers:
        if specimen.kind == "fault":
            by_cause[specimen.causes[0]].append(correct(specimen, ranked, level, 1))
    lines.append(
        "  missed: " + " ".join(f"{name} {sum(ok)}/{len(ok)}" for name, ok in sorted(by_cause.items()) if not all(ok))
    )
    for specimen, ranked in answers:
        verdict = judge(specimen.observations(level), ranked)
        wrong = (specimen.kind == "healthy" and verdict == "unhealthy") or (
            specimen.kind == "fault" and level != "curve" and not correct(specimen, ranked, level, 1)
        )
        if wrong:
            seen = [name for name, present, _ in specimen.evidence[level]["observations"] if present]
            said = " ".join(f"{entry.cause} {entry.probability:.2f}" for entry in ranked[:3])
            what = "+".join(specimen.causes) or specimen.variant
            lines.append(
                f"  {specimen.name} {what} {specimen.level} {specimen.task} {specimen.optimizer}: {verdict}; {said}; "
                f"{seen}"
            )
    return "\n".join(lines)


def write(known: Sequence[Specimen]) -> None:
    """Counts of all specimens; the calibration from predictions for tasks that were left out."""
    made = {}
    for name, level in CALIBRATED_ON.items():
        values = sorted({s.task for s in known})
        cases = []
        for index in range(PARTS):
            part = set(values[index::PARTS])
            counts = count([s for s in known if s.task not in part], name)
            cases += [weighed(s, level, counts) for s in known if s.task in part and level in s.evidence]
        calibration = calibrated(cases)
        counts, before = count(known, name).counts, levels()[name]
        of_others = {"false_alarms": before.false_alarms, "inferred": before.inferred, "health": before.health}
        made[name] = replace(calibration, counts=counts, **of_others).to_json()
        made[name]["reliability"] = [
            [round(said, 4), round(right, 4), number]
            for said, right, number in reliability([(case.specimen, case.ranked(calibration)) for case in cases])
        ]
        print(name, {key: value for key, value in made[name].items() if isinstance(value, float)})
    text = {
        "schema": SCHEMA,
        "command": "python benchmarks/zoo/fit.py RESULTS --write",
        "false_alarms": json.loads(FITTED.read_text()).get("false_alarms", ""),
        "specimens": len(known),
        "levels": made,
    }
    FITTED.write_text(json.dumps(text, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
