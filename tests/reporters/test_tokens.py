"""A batch as the loss sees it: on the terminal, in HTML, as JSON, with and without the texts of the data."""

from __future__ import annotations

import json
import re
from dataclasses import replace

from traindx.diagnosis import Diagnosis
from traindx.engine import diagnose
from traindx.measurements import Measured, TokenSample, TokenSamples
from traindx.reporters import reporters
from traindx.reporters.batches.excerpt import excerpt, title
from traindx.reporters.html.tokens import batches
from traindx.run import Run
from traindx.symptoms.token_counts import special_tokens, token_counts

SECRET = "Paris"
PIECES = ("<s>", "Where", "?", "\n", SECRET, "</s>", "<pad>", "<pad>", "<pad>")
SAMPLE = TokenSample(
    length=9, classes="sppp" + "aa" + "---", counted="000010000", losses=(None,) * 4 + (2.5,) + (None,) * 4,
    ids=(1, 10, 11, 12, 13, 2, 0, 0, 0), pieces=PIECES, labels=(None, -100, -100, -100, 13, -100, -100, -100, -100),
    positions=tuple(range(9)), attention="111111000",
)  # fmt: skip


def batch(**changes: object) -> TokenSamples:
    return TokenSamples(
        samples=(SAMPLE._replace(**changes),), shift=1, evaluation=False, tokenizer="LlamaTokenizer", where="train.py:9"
    )


def page(one: TokenSamples) -> Diagnosis:
    run = Run("train.traindx", "recording")
    run.measured = [Measured([one, token_counts(), special_tokens(pad=2, end_counted=0, eos_counted=0)])]
    return diagnose(run)


def shown(form: str, diagnosis: Diagnosis, *, color: bool = False) -> str:
    return reporters()[form].render([diagnosis], color=color, width=90)


def test_counted_tokens_are_marked_without_colour_and_special_ones_boxed() -> None:
    lines = excerpt(batch(), samples=1, lines=6, color=False, width=80)
    text, under = lines[-3], lines[-2]
    assert text == "  [<s>]Where?⏎Paris[</s>][<pad>]×3"
    place = text.index(SECRET)
    assert under.strip() == "▔" * len(SECRET)
    assert under.index("▔") == place
    assert lines[0].startswith("sample 1, 9 tokens: 3 prompt (not counted), 2 answer (1 counted, mean loss 2.5)")


def test_colour_says_the_same() -> None:
    lines = excerpt(batch(), samples=1, lines=6, color=True, width=80)
    assert re.search(r"\x1b\[1;32mParis\x1b\[0m", "".join(lines))
    assert "▔" not in "".join(lines)


def test_a_long_sample_shows_its_beginning_and_what_counts() -> None:
    prompt = 400
    long = batch(
        length=prompt + 1, classes="p" * prompt + "a", counted="0" * prompt + "1", losses=(None,) * prompt + (1.0,),
        pieces=("word ",) * prompt + (SECRET,), ids=(5,) * (prompt + 1), labels=(None,) * (prompt + 1), positions=(),
        attention="",
    )  # fmt: skip
    lines = excerpt(long, samples=1, lines=6, color=False, width=80)
    assert len(lines) <= 8
    assert any("…" in line for line in lines)
    assert any(SECRET in line for line in lines)


def test_the_page_shows_the_batch_where_it_is_at_fault() -> None:
    assert "Training batch at step 0" in shown("text", page(batch()))
    calm = Run("train.traindx", "recording")
    calm.measured = [Measured([batch()])]
    assert "Training batch" not in shown("text", diagnose(calm))


def test_a_shift_that_is_wrong_is_said() -> None:
    assert "not shifted" in title(TokenSamples(samples=(SAMPLE,), shift=0, evaluation=False, tokenizer=""))


def test_html_escapes_and_tells_everything_of_a_token_on_hover() -> None:
    html = str(batches((batch(pieces=("<b>", *PIECES[1:])),)))
    assert "<b>" not in html
    assert "&lt;b&gt;" in html
    assert 'title="answer · place 4 · id 13 · position id 4 · attended · label 13 · counted · loss 2.5"' in html


def test_json_holds_texts_for_programs_and_none_for_what_is_posted() -> None:
    diagnosis = page(batch())
    whole = json.loads(shown("json", diagnosis))
    assert SECRET in whole["batches"][0]["samples"][0]["pieces"]
    assert SECRET not in json.dumps(diagnosis.to_json())
    assert diagnosis.to_json()["batches"][0]["samples"][0]["classes"] == SAMPLE.classes
    again = Diagnosis.from_json(whole)
    assert again.batches == diagnosis.batches
    for form in ("md", "issue", "github"):
        assert SECRET not in shown(form, diagnosis), form


def test_without_texts_classes_stand_for_tokens() -> None:
    private = batch(pieces=(), ids=(), labels=())
    assert "[answer ×1][answer ×1][padding ×3]" in "\n".join(
        excerpt(private, samples=1, lines=6, color=False, width=120)
    )
    assert "answer ×1" in str(batches((private,)))


def test_escape_sequences_of_the_data_reach_no_terminal() -> None:
    hostile = batch(pieces=("\x1b[2J", *PIECES[1:]))
    assert "\x1b" not in shown("text", replace(page(hostile)))
