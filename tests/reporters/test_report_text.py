"""The page in the terminal: what its first line says, how it fits, and what must never reach the terminal."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
import reporter_samples as samples
from rich.cells import cell_len

from traindx.diagnosis import Curve, Diagnosis, Hypothesis, Missing, Observation
from traindx.reporters import reporters

HOSTILE = "\x1b[31mred\x1b[0m\x07\x9b2J\u202eevil\nnext|`<b>[bold]\udc80"


def page(*diagnoses: Diagnosis, color: bool = False, width: int = 100) -> str:
    return reporters()["text"].render(diagnoses, color=color, width=width)


def whole_page(diagnosis: Diagnosis) -> str:
    """What `-v` shows."""
    render = reporters()["text"].render_all
    assert render is not None
    return render([diagnosis], color=False, width=100)


def test_first_line_answers_and_the_page_is_complete() -> None:
    text = page(samples.unhealthy())
    assert re.fullmatch(r"traindx · runs/exp1/metrics.csv · 412 steps +UNHEALTHY", text.splitlines()[0])
    parts = ("Most likely", "82 %", "fix ", "lr=1e-3", "why ", "against", "do not", "0.618 at step 273 (best)", "Else",
             "11 %", "Not measured", "Next")  # fmt: skip
    places = [text.find(part) for part in parts]
    assert -1 not in places, dict(zip(parts, places, strict=True))
    assert places == sorted(places), "the answer stands before its proof"
    assert "something else" not in text


@pytest.mark.parametrize("width", [40, 60, 80, 100, 200])
def test_lines_fit_the_terminal(width: int) -> None:
    long = samples.unhealthy(run=samples.summary(source="/very/long/" * 12 + "metrics.csv", name="run 3 of 9"))
    text = page(long, samples.healthy(), samples.inconclusive(), width=width)
    code = samples.LR.code  # code is for pasting and never wrapped
    assert all(cell_len(line) <= min(width, 100) for line in text.splitlines() if code not in line)


def test_page_stays_a_page() -> None:
    many = tuple(Observation(f"symptom-{n}", "present", f"measured {n} " * 9, (n, n + 9)) for n in range(30))
    missing = tuple(Missing(f"evidence {n}", ("a", "b", "c", "d"), f"do {n}") for n in range(9))
    sick = samples.unhealthy(symptoms=many, missing=missing, notes=tuple(f"note {n}" for n in range(9)))
    text = page(sick)
    assert len(text.splitlines()) <= 30
    assert "evidence 0" in text
    assert "and 8 more: -v" in text
    everything = whole_page(sick)
    assert all(f"symptom-{n} " in everything for n in range(30))
    assert "evidence 7" in everything


def test_a_sentence_of_two_symptoms_is_printed_once() -> None:
    twins = tuple(Observation(name, "present", "The layers kept in a list never move.") for name in ("one", "other"))
    text = page(samples.unhealthy(symptoms=twins))
    assert text.count("never move") == 1


def test_a_healthy_page_shows_the_curve_and_its_last_value() -> None:
    lines = page(samples.healthy()).splitlines()
    assert len(lines) <= 8
    assert lines[0].endswith("HEALTHY")
    assert re.match(r"  No problem found \(confidence \d+ %\)\. \d+ checks? passed\.", lines[1])
    assert any("now" in line for line in lines[2:])
    assert any("Not measured" in line and "more data" in line for line in lines)
    assert "divergence" in whole_page(samples.healthy())


@pytest.mark.parametrize("form", ["text", "md"])
def test_an_unsure_page_names_the_fix_without_its_code(form: str) -> None:
    sure = samples.unhealthy()
    first = replace(sure.hypotheses[0], confidence=0.3)
    unsure = replace(sure, hypotheses=(first, *sure.hypotheses[1:]))
    render = reporters()[form].render
    assert samples.LR.code in render([sure], color=False, width=100)
    text = render([unsure], color=False, width=100)
    assert samples.LR.code not in text
    assert samples.LR.title in text
    assert "traindx explain lower-lr" in text


def test_inconclusive_says_why_and_proposes_no_fix() -> None:
    text = page(samples.inconclusive())
    assert "INCONCLUSIVE" in text
    assert "too few to tell" in text
    assert "Cause unclear" not in text, "a short log needs no cause"
    assert "fix " not in text
    assert "do not" not in text
    assert "Not measured" in text


def test_evidence_is_spelled_out_once() -> None:
    sentence = "left its best 0.61 and is 13 times above it now"
    first = samples.unhealthy().hypotheses[0]
    told = samples.unhealthy(headline=sentence, hypotheses=(samples.replaced(first, supports=(sentence,)),))
    text = " ".join(page(told).split())
    assert text.count(sentence) == 1


def test_notes_and_losses_are_shown_once() -> None:
    told = samples.unhealthy(
        notes=("Not read: 3 lines are damaged",), run=samples.summary(lost=("3 lines are damaged",))
    )
    assert page(told).count("3 lines are damaged") == 1


def test_colour_only_supports_the_words() -> None:
    plain, coloured = page(samples.unhealthy()), page(samples.unhealthy(), color=True)
    assert "\x1b[" not in plain
    assert "\x1b[" in coloured
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == plain


def test_several_runs_start_with_a_table() -> None:
    text = page(samples.unhealthy(), samples.healthy())
    assert text.startswith("traindx · 2 runs in runs/exp1/: 1 unhealthy, 0 inconclusive, 1 healthy")
    assert text.count("traindx · runs/exp1") == 2


@pytest.mark.parametrize("width", [60, 100])
def test_no_name_and_no_percentage_is_cut_in_the_table(width: int) -> None:
    names = [f"a_rather_long_name_of_an_experiment_{n}/with/another/long/part/metrics_of_the_run.csv" for n in range(5)]
    runs = [samples.unhealthy(run=samples.summary(source=f"runs/{name}")) for name in names]
    text = reporters()["text"].render(runs, color=False, width=width)
    lines = text.split("─")[0].splitlines()
    joined = "".join(line.strip() for line in lines)
    assert all(name in joined for name in names)
    assert "…" not in joined
    assert sum(line.rstrip().endswith("%") for line in lines) == len(names)
    assert max(len(line) for line in lines) <= width


def test_many_runs_show_only_the_worst_in_full() -> None:
    runs = [samples.unhealthy(run=samples.summary(source=f"runs/{n}/log.csv")) for n in range(5)] + [samples.healthy()]
    text = page(*runs)
    assert text.count("UNHEALTHY") == 3
    assert "runs/" in text.splitlines()[0]
    assert "3 more pages not shown" in text


@pytest.mark.parametrize("flag", ["text", "md", "json"])
def test_hostile_text_is_defused(flag: str) -> None:
    sick = samples.unhealthy()
    fix = samples.replaced(samples.LR, title=HOSTILE, code=HOSTILE)
    first = samples.replaced(
        sick.hypotheses[0], title=HOSTILE, supports=(HOSTILE,), contradicts=(HOSTILE,), do_not=(HOSTILE,), fix=fix
    )
    told = samples.unhealthy(
        headline=HOSTILE, hypotheses=(first, *sick.hypotheses[1:]), notes=(HOSTILE,), next=HOSTILE,
        symptoms=(Observation("divergence", "present", HOSTILE, None, HOSTILE),),
        missing=(Missing(HOSTILE, (), HOSTILE),),
        run=samples.summary(source=HOSTILE, name=HOSTILE, metrics=(HOSTILE,), config={HOSTILE: HOSTILE}),
        curves=(Curve(HOSTILE, (0.0, 1.0), (1.0, 2.0)),),
    )  # fmt: skip
    text = reporters()[flag].render([told, told], color=False, width=100)
    assert not [
        character for character in text if character != "\n" and not character.isprintable() and character != "\u2060"
    ]
    text.encode()


def test_what_speaks_against_a_likely_alternative_is_said() -> None:
    """A recording that looked and did not see what a cause always shows has something to say."""
    rival = Hypothesis(
        "fp16-overflow", "half-precision overflow", 0.33, (), ("nan-from-half-overflow not seen: all is fp32.",)
    )
    faint = Hypothesis("nan-in-data", "NaN in the data", 0.05, (), ("nonfinite-inputs not seen: they are finite.",))
    text = page(samples.unhealthy(hypotheses=(Hypothesis("log-of-zero", "logarithm of zero", 0.5), rival, faint)))
    assert "against: nan-from-half-overflow not seen" in text
    assert "nonfinite-inputs" not in text


def test_why_a_page_decides_nothing_stands_first_and_once() -> None:
    short = Observation("too-short", "present", "loss has 3 values; 5 are the least that show a trend.")
    cut = Observation("truncated", "present", "The log ends at 2 % of the planned 111,000 steps.")
    text = page(samples.unhealthy(verdict="inconclusive", headline=short.evidence, symptoms=(short, cut)))
    assert text.splitlines()[1] == short.evidence
    assert text.count(short.evidence) == 1
    assert cut.evidence in text


def test_a_log_that_holds_nothing_is_not_ranked() -> None:
    """What anything could be is no help to somebody whose training crashed before the first value."""
    seen = (
        Observation("too-short", "present", "No value of any objective was logged."),
        Observation("truncated", "present", "The log ends in a crash: CUDA out of memory."),
        Observation("divergence", "unknown", "Too few values."),
    )
    empty = samples.unhealthy(
        verdict="inconclusive", headline=seen[1].evidence, symptoms=seen, curves=(), run=samples.summary(objective=None)
    )
    for flag in ("text", "md"):
        assert "corrupt-samples" not in reporters()[flag].render([empty], color=False, width=100)
    assert "CUDA out of memory" in page(empty).splitlines()[1]
    asked = replace(empty, run=replace(empty.run, format="answers"))
    assert "corrupt-samples" in page(asked)


def test_a_number_keeps_its_percent_sign() -> None:
    for width in range(40, 100):
        assert not any(line.strip().startswith("%") for line in page(samples.unhealthy(), width=width).splitlines())


def test_epochs_counted_from_zero_are_one_more() -> None:
    curve = Curve("loss", tuple(float(epoch) for epoch in range(10)), (1.0,) * 10)
    run = samples.summary(steps=9, axis="epoch")
    assert "· 10 epochs" in page(samples.unhealthy(run=run, curves=(curve,))).splitlines()[0]
    later = replace(curve, steps=tuple(epoch + 1 for epoch in curve.steps))
    assert "· 9 epochs" in page(samples.unhealthy(run=run, curves=(later,))).splitlines()[0]


def test_where_the_cause_is_unclear_the_page_begins_with_what_is_wrong() -> None:
    sick = samples.unhealthy(headline="swings of 0.4, 6 times the noise")
    guess = replace(sick.hypotheses[0], confidence=0.2, supports=("the norm had risen before",))
    lines = page(replace(sick, hypotheses=(guess,))).splitlines()
    assert lines[1] == "swings of 0.4, 6 times the noise (oscillation)"
    assert any("for: the norm had risen before" in line for line in lines)
    assert not any("swings of 0.4" in line for line in lines[2:])


def test_a_story_is_told_once() -> None:
    told = (
        Observation("divergence", "present", "loss left its best", None, "loss"),
        Observation("ends-off-best", "present", "loss ends far from its best", None, "loss"),
        Observation("ends-off-best", "present", "acc ends far from its best", None, "acc"),
    )
    text = page(samples.unhealthy(symptoms=told, headline="loss left its best"))
    assert "acc ends far from its best" in text
    assert "loss ends far from its best" not in text
    assert "loss ends far from its best" in whole_page(samples.unhealthy(symptoms=told))


def test_the_answer_of_a_run_that_died_is_what_ended_it() -> None:
    """No guesses from the few values before it, and no complaint that there are few."""
    died = Observation("run-died", "present", "The run died: out of memory.")
    short = Observation("too-short", "present", "loss has 4 values; 5 are the least that show a trend.")
    guess = Hypothesis("lr-too-high", "learning rate too high", 0.3)
    text = page(samples.inconclusive(headline=died.evidence, symptoms=(died, short), hypotheses=(guess,)))
    assert died.evidence in text
    for absent in ("learning rate too high", "4 values", "Not measured"):
        assert absent not in text


def test_a_guess_below_one_in_ten_is_shown_only_where_something_is_wrong() -> None:
    swings = Observation("oscillation", "present", "swings of 0.4")
    guesses = tuple(Hypothesis(one, one, 0.07) for one in ("lr-too-high", "batch-too-small"))
    assert "Cause unclear" in page(samples.unhealthy(symptoms=(swings,), hypotheses=guesses))
    assert "Cause unclear" not in page(samples.inconclusive(symptoms=(swings,), hypotheses=guesses))


def test_a_place_that_the_sentence_names_is_not_said_twice() -> None:
    spike = Observation("loss-spike", "present", "loss jumped to 7.2 at step 87", (87, 87))
    assert "step 87: loss jumped" not in page(samples.unhealthy(symptoms=(spike,)))
    near = replace(spike, evidence="loss jumped to 7.2 after step 8")
    assert "step 87: loss jumped" in page(samples.unhealthy(symptoms=(near,)))


def test_a_curve_that_never_moves_is_not_at_its_best() -> None:
    flat = Curve("val_acc", (0.0, 1.0, 2.0), (0.0, 0.0, 0.0), "max")
    text = page(samples.healthy(curves=(samples.curve(), flat)))
    assert "val_acc: 0 from first to last" in text
    assert "its best" not in text


def test_below_a_quarter_or_below_health_the_cause_is_unclear() -> None:
    """No advice for a guess: at most three candidates, no fix, no do-nots, no tail of unlikely ones."""
    sick = samples.unhealthy()
    guess = replace(sick.hypotheses[0], confidence=0.2)
    rest = [Hypothesis(f"cause-{n}", f"cause {n}", 0.1 - n / 100) for n in range(6)]
    text = page(replace(sick, hypotheses=(guess, *rest)))
    assert "Cause unclear. Check these three:" in text
    assert "cause-1" in text
    assert "cause-2" not in text
    assert "do not" not in text
    healthy = Hypothesis("healthy", "healthy", 0.5)
    text = page(replace(sick, hypotheses=(healthy, replace(guess, confidence=0.4))))
    assert "Most likely" not in text


def test_a_candidate_is_checked_by_hand_and_beside_the_rate_it_had() -> None:
    high = Hypothesis("lr-too-high", "learning rate too high", 0.2, fix=samples.replaced(samples.LR, change="lr=x0.1"))
    sick = samples.unhealthy(hypotheses=(high,), figures=("Learning rate: 0.4 at its highest (usually less).",))
    text = " ".join(page(sick).split())
    assert (
        "learning rate: 0.4 at its highest (usually less). check: train 200 steps at a tenth of the learning rate"
        in text
    )
