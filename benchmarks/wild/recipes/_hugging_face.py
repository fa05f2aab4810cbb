"""What several recipes of Hugging Face programs have in common: small local models, data sets and metrics in the forms
their libraries load."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterable
from pathlib import Path

from data import causal_lm, json_lines, sentences

HOME = {
    "HF_HOME": "hugging_face_home"
}  # below the program's folder: nothing is left outside and no run meets another's cache
MOODS = {
    "glad": "rejoices|smiles|sings|hopes for the best|gives thanks|dances".split("|"),
    "sad": "weeps|despairs|mourns|sighs|gives up|hangs his head".split("|"),
    "angry": "curses|rages|shouts|breaks the door|swears revenge|strikes the table".split("|"),
}
LINKS = {
    1: "Likewise|Indeed|In other words|That is to say|Also|Similarly".split("|"),
    0: "However|Instead|By contrast|Yet|On the contrary|Unlike that".split("|"),
}
METRIC = '''"""Stands for the metric of this name that would be downloaded."""
import datasets
import evaluate


class Metric(evaluate.Metric):
    def _info(self):
        kind = {kind}
        features = datasets.Features({{"predictions": kind, "references": kind}})
        return evaluate.MetricInfo(description="", citation="", inputs_description="", features=features)

    def _compute(self, predictions, references):
{compute}
'''
METRICS = {
    "accuracy": (
        'datasets.Value("int32")',
        '        return {"accuracy": sum(a == b for a, b in zip(predictions, references)) / len(references)}',
    ),
    "glue": (
        'datasets.Value("int64")',
        """        right = sum(a == b for a, b in zip(predictions, references))
        found = sum(a == b == 1 for a, b in zip(predictions, references))
        return {"accuracy": right / len(references), "f1": 2 * found / max(1, sum(predictions) + sum(references))}""",
    ),
    "seqeval": (
        'datasets.Sequence(datasets.Value("string"))',
        """        def spans(tags):
            found, start = set(), None
            for index, tag in enumerate([*tags, "O"]):
                if start is not None and tag != "I-" + tags[start][2:]:
                    found.add((start, index, tags[start][2:]))
                    start = None
                if tag[0] == "B" or (tag[0] == "I" and start is None):
                    start = index
            return found

        pairs = [(spans(a), spans(b)) for a, b in zip(predictions, references)]
        both, said, true = sum(len(a & b) for a, b in pairs), sum(len(a) for a, _ in pairs), sum(len(b) for _, b in pairs)
        words = [(a, b) for one, other in zip(predictions, references) for a, b in zip(one, other)]
        return {
            "overall_precision": both / max(1, said), "overall_recall": both / max(1, true),
            "overall_f1": 2 * both / max(1, said + true), "overall_accuracy": sum(a == b for a, b in words) / len(words),
        }""",  # noqa: E501
    ),
}  # fmt: skip


def keep(place: Path, *kept: str) -> None:
    """Deletes all of a large checkout but these files and folders."""
    for path in sorted(place.rglob("*"), reverse=True):
        name = path.relative_to(place).as_posix()
        if any(name == file or name.startswith(f"{file}/") or file.startswith(f"{name}/") for file in kept):
            continue
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()


def metric(folder: Path, name: str) -> None:
    """A metric that `evaluate.load(name)` finds in the folder in which the program runs."""
    kind, compute = METRICS[name]
    (folder / name).mkdir(parents=True, exist_ok=True)
    (folder / name / f"{name}.py").write_text(METRIC.format(kind=kind, compute=compute), "utf-8")


def moods(count: int, seed: int = 0, wrong: float = 0.05) -> list[dict[str, object]]:
    """Lines of a play with the mood of the last person in them; a few labels are wrong."""
    draw = random.Random(seed)
    rows: list[dict[str, object]] = []
    for line in sentences(count, seed + 100):
        mood = draw.choice(list(MOODS))
        told = f"{line} {draw.choice(['Then he', 'The lady', 'At last she', 'My friend'])} {draw.choice(MOODS[mood])}."
        rows.append({"sentence": told, "label": draw.choice(list(MOODS)) if draw.random() < wrong else mood})
    return rows


def pairs(count: int, seed: int = 0, wrong: float = 0.05) -> list[dict[str, object]]:
    """Two sentences and whether the second goes along with the first, as MRPC is laid out; a few labels are wrong."""
    draw = random.Random(seed)
    lines = sentences(2 * count, seed + 100)
    rows: list[dict[str, object]] = []
    for index in range(count):
        label = draw.randrange(2)
        second = f"{draw.choice(LINKS[label])}, {lines[2 * index + 1].lower()}"
        shown = draw.randrange(2) if draw.random() < wrong else label
        rows.append({"sentence1": lines[2 * index], "sentence2": second, "label": shown, "idx": index})
    return rows


def data_set(folder: Path, parts: dict[str, list[dict[str, object]]], config: str = "default") -> None:
    """A folder that `datasets.load_dataset` takes in place of a name on the hub."""
    listed = "".join(f"  - split: {part}\n    path: {config}/{part}.jsonl\n" for part in parts)
    for part, rows in parts.items():
        json_lines(folder / config / f"{part}.jsonl", rows)
    (folder / "README.md").write_text(f"---\nconfigs:\n- config_name: {config}\n  data_files:\n{listed}---\n", "utf-8")


def bert(folder: Path, lines: Iterable[str], updates: int = 0, width: int = 64, layers: int = 2) -> None:
    """A tiny BERT and its tokenizer, as `from_pretrained` loads them; trained to fill in masked words for so many
    updates."""
    import torch
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers
    from transformers import BertConfig, BertForMaskedLM, PreTrainedTokenizerFast

    lines = list(lines)
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=False)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.train_from_iterator(
        lines, trainers.WordPieceTrainer(vocab_size=400, special_tokens=special, show_progress=False)
    )
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, unk_token="[UNK]", sep_token="[SEP]", pad_token="[PAD]", cls_token="[CLS]",
        mask_token="[MASK]",
        model_max_length=128, model_input_names=["input_ids", "token_type_ids", "attention_mask"],
    )  # fmt: skip
    fast.save_pretrained(folder)
    torch.manual_seed(0)
    model = BertForMaskedLM(
        BertConfig(
            vocab_size=len(fast), hidden_size=width, num_hidden_layers=layers, num_attention_heads=4,
            intermediate_size=2 * width,
            max_position_embeddings=192,
        )
    )  # fmt: skip
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    draw = random.Random(0)
    for _ in range(updates):
        batch = fast([draw.choice(lines) for _ in range(32)], padding=True, truncation=True, return_tensors="pt")
        ids = batch["input_ids"]
        hidden = (torch.rand(ids.shape) < 0.2) & (ids > 4)
        batch["labels"] = torch.where(hidden, ids, -100)
        batch["input_ids"] = torch.where(hidden, 4, ids)
        model(**batch).loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    model.eval().save_pretrained(folder)


def llama(folder: Path, chat: bool = False, lines: Iterable[str] = ()) -> None:
    """data.causal_lm with the same weights every time, and with a tokenizer made from these lines where there are
    any."""
    import torch
    from transformers import AutoTokenizer

    torch.manual_seed(0)
    causal_lm(folder, chat=chat)
    if lines := list(lines):
        tokenizer = AutoTokenizer.from_pretrained(folder)
        tokenizer.train_new_from_iterator(lines, len(tokenizer)).save_pretrained(folder)


def teach(folder: Path, lines: Iterable[str], updates: int = 200) -> None:
    """Trains a causal model made by data.causal_lm on these lines, so that there is something to fine-tune."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    lines = list(lines)
    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModelForCausalLM.from_pretrained(folder)
    torch.manual_seed(0)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.05, updates)
    draw = random.Random(0)
    for _ in range(updates):
        batch = tokenizer([draw.choice(lines) for _ in range(16)], padding=True, return_tensors="pt")
        batch.pop("token_type_ids", None)
        model(**batch, labels=torch.where(batch["attention_mask"] == 1, batch["input_ids"], -100)).loss.backward()
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
    model.save_pretrained(folder)
