"""What the loss sees in trainings that TRL and the Trainer of transformers run."""

from __future__ import annotations

from pathlib import Path

import pytest
from live_scripts import facts_of, present, run
from test_token_batches import OF_TOKENS

from traindx.measurements import TokenCounts
from traindx.readers.find import find_runs

pytest.importorskip("trl")

HEAD = """
import tempfile, warnings, logging, tiny_lm as lm
from datasets import Dataset, disable_progress_bars
from trl import SFTConfig, SFTTrainer
warnings.simplefilter("ignore"); disable_progress_bars()
def settings(kind, **options):
    return kind(output_dir=tempfile.mkdtemp(), max_steps=4, per_device_train_batch_size=8, report_to=[], use_cpu=True,
                disable_tqdm=True, save_strategy="no", logging_steps=1, **options)
"""
SFT = """
tok = lm.tokenizer()
data = Dataset.from_list([{"messages": one} for one in lm.messages(96, answer_sentences=(1, 1))])
SFTTrainer(model=lm.llama(len(tok), layers=1), args=settings(SFTConfig, OPTIONS), train_dataset=data,
           processing_class=tok).train()
"""
TRAINER = """
from transformers import DataCollatorForLanguageModeling, Trainer, TrainingArguments
tok = lm.tokenizer(pad_is_eos=MASKED)
data = [tok.apply_chat_template(one, return_dict=True) for one in lm.messages(48, answer_sentences=(4, 8))]
Trainer(model=lm.llama(len(tok), layers=1), args=settings(TrainingArguments), train_dataset=data, processing_class=tok,
        data_collator=DataCollatorForLanguageModeling(tok, mlm=False)).train()
"""


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        pytest.param(SFT.replace("OPTIONS", "max_length=128, assistant_only_loss=True"), set(), id="answers"),
        pytest.param(SFT.replace("OPTIONS", "max_length=128"), {"prompt-dominates-loss"}, id="prompts and answers"),
        pytest.param(
            SFT.replace("OPTIONS", "max_length=128, assistant_only_loss=True, packing=True"), set(), id="packed"
        ),
        pytest.param(TRAINER.replace("MASKED", "False"), set(), id="Trainer"),
        pytest.param(TRAINER.replace("MASKED", "True"), {"eos-never-counted"}, id="Trainer, pad is eos"),
    ],
)  # fmt: skip
def test_a_trainer_is_followed(body: str, wanted: set[str], tmp_path: Path) -> None:
    assert present(facts_of(HEAD + body, tmp_path)) & OF_TOKENS == wanted
    counts = find_runs([tmp_path / "run.traindx"])[0].measured[0].all(TokenCounts)[-1]
    assert counts.next == counts.counted > 0
    assert counts.answer_loss > 0


def test_the_training_is_the_same_with_and_without_a_recording(tmp_path: Path) -> None:
    """Packed documents are tried on the model itself."""
    body = HEAD + SFT.replace("OPTIONS", "max_length=128, assistant_only_loss=True, packing=True").replace(
        ").train()", ")\ntrainer.train()"
    ).replace("SFTTrainer(model", "trainer = SFTTrainer(model")
    body += "\nprint([float(one.double().sum()) for one in trainer.model.parameters()], torch.rand(1))"
    watched, bare = run(body, tmp_path / "run.traindx"), run(body, None)
    assert watched.splitlines()[-1] == bare.splitlines()[-1]
