"""Write tests/golden/allennlp: the serialization folder of a real `allennlp train`, with its out.log.

Run in an environment with Python 3.8, torch 1.12.1 and allennlp 2.10.1 (the last release):
    python tests/golden/make/write_allennlp.py
"""

import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent.parent / "allennlp"
KEPT = ("config.json", "out.log", "metrics.json", "metrics_epoch_*.json")
_PLACES = re.compile(r"(?:/[\w.+-]+)+/(site-packages|python3\.8)")


def reviews(path: Path, count: int, first: int) -> None:
    """One JSON line each, good or bad by its third word."""
    words = {"pos": ("lovely", "great", "fine"), "neg": ("awful", "dull", "bad")}
    rows = []
    for index in range(first, first + count):
        label = ("pos", "neg")[index % 2]
        rows.append({"text": f"the film{index % 5} is {words[label][index % 3]} indeed", "label": label})
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


CONFIG = {
    "dataset_reader": {
        "type": "text_classification_json",
        "tokenizer": "whitespace",
        "token_indexers": {"tokens": {"type": "single_id"}},
    },
    "train_data_path": "train.jsonl",
    "validation_data_path": "dev.jsonl",
    "model": {
        "type": "basic_classifier",
        "text_field_embedder": {"token_embedders": {"tokens": {"embedding_dim": 8}}},
        "seq2vec_encoder": {"type": "bag_of_embeddings", "embedding_dim": 8},
    },
    "data_loader": {"batch_size": 8, "shuffle": True},
    "trainer": {
        "optimizer": {"type": "adam", "lr": 0.02},
        "num_epochs": 6,
        "patience": 3,
        "grad_norm": 1.0,
        "validation_metric": "+accuracy",
        "cuda_device": -1,
        "checkpointer": {"keep_most_recent_by_count": 1},
    },
}


def main() -> None:
    shutil.rmtree(HERE, ignore_errors=True)
    HERE.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        reviews(folder / "train.jsonl", 96, 0)
        reviews(folder / "dev.jsonl", 24, 500)
        (folder / "classifier.json").write_text(json.dumps(CONFIG))
        command = [
            str(Path(sys.executable).parent / "allennlp"),
            "train",
            "classifier.json",
            "-s",
            "run",
            "--file-friendly-logging",
        ]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=True, cwd=folder)
        (folder / "run" / "console.txt").write_bytes(done.stdout)
        for pattern in (*KEPT, "console.txt"):
            for path in (folder / "run").glob(pattern):
                text = _PLACES.sub(r"/\1", path.read_text()).replace(temporary, "/data")
                (HERE / path.name).write_text(text)


if __name__ == "__main__":
    main()
