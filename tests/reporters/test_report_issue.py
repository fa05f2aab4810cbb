"""The block for a thread: short, complete, and without anything that should stay at home."""

from __future__ import annotations

from dataclasses import replace

import pytest
import reporter_samples as samples

from traindx.diagnosis import Diagnosis, FixProposal, Observation
from traindx.reporters import reporters
from traindx.reporters.scrub import scrubbed


def render(*diagnoses: Diagnosis) -> str:
    return reporters()["issue"].render(diagnoses, color=False, width=100)


def test_it_holds_the_answer_the_evidence_the_versions_and_the_command() -> None:
    run = samples.summary(
        source="/home/ann/secret-project/metrics.csv",
        config={"torch_version": "2.4.1+cu121", "lib.transformers": "4.44.0"},
    )
    page = samples.unhealthy(run=run)
    text = render(page)
    first = page.hypotheses[0]
    assert text.startswith("**traindx: UNHEALTHY** · `metrics.csv`")
    assert f"**Most likely ({first.confidence * 100:.0f} %):**" in text
    assert first.fix is not None
    assert first.fix.id in text
    assert "**Evidence:**" in text
    assert "torch 2.4.1+cu121 · transformers 4.44.0 · reproduce: `traindx diagnose metrics.csv`" in text
    assert "ann" not in text.replace("cannot", "")
    assert "secret-project" not in text


def test_a_guess_is_no_cause() -> None:
    page = samples.unhealthy()
    weak = tuple(replace(hypothesis, confidence=0.2 - place / 100) for place, hypothesis in enumerate(page.hypotheses))
    text = render(replace(page, hypotheses=weak))
    assert "**Cause unclear. Check" in text
    assert "Most likely" not in text
    assert "**Fix:**" not in text


def test_it_is_never_longer_than_25_lines() -> None:
    many = tuple(Observation(f"symptom-{n}", "present", f"sentence {n} " * 80, (n, n)) for n in range(40))
    page = samples.unhealthy(symptoms=many)
    long_code = FixProposal("lower-lr", "Lower it", "\n".join(f"line{n} = {n}" for n in range(90)), "safe")
    sure = replace(page.hypotheses[0], confidence=0.9, fix=long_code)
    assert len(render(replace(page, hypotheses=(sure, *page.hypotheses[1:]))).splitlines()) <= 25
    assert len(render(*[page] * 200).splitlines()) <= 25
    assert "184 more runs not shown." in render(*[page] * 200)


def test_nothing_from_the_log_becomes_markup_or_a_mention() -> None:
    seen = Observation("divergence", "present", "<img src=x> @everyone [a](http://b) `x` #1\n# head", (0, 1))
    text = render(samples.unhealthy(headline=seen.evidence, symptoms=(seen,)))
    assert "<img" not in text
    assert "@everyone" not in text
    assert "\n# head" not in text
    assert "[a](" not in text


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("api_key=abcd1234", "api_key=***"),
        ("WANDB_TOKEN: 'abc def'", "WANDB_TOKEN: '*** def'"),
        ("used hf_AbCdEfGhIjKlMnOp now", "used *** now"),
        ("https://me:pw@host/repo", "https://host/repo"),
        ("open /home/ann/data/train.csv failed", "open train.csv failed"),
        (r"open C:\Users\ann\train.csv failed", "open train.csv failed"),
        ("mail ann@example.org", "mail ***"),
        ("loss 0.5/1.0 at step 3, 12 it/s", "loss 0.5/1.0 at step 3, 12 it/s"),
    ],
)
def test_secrets_and_places_are_masked(text: str, left: str) -> None:
    assert scrubbed(text) == left
