"""Write tests/golden/fairseq: what fairseq-train prints in each of its log formats, from real trainings on the CPU.

Run in an environment with Python 3.8, torch 1.12.1 and fairseq 0.12.2 (the last release; it does not import under 3.11):
    python tests/golden/make/write_fairseq.py
"""  # noqa: E501

import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent.parent / "fairseq"
FORMATS = ("simple", "json", "tqdm")
_PLACES = re.compile(r"(?:/[\w.+-]+)+/(site-packages|python3\.8)")


def sentences(path: Path, count: int, first: int) -> None:
    """Counting in words, which a tiny model learns in a minute."""
    words = "zero one two three four five six seven eight nine".split()
    lines = (" ".join(words[(index * 7 + place) % 10] for place in range(12)) for index in range(first, first + count))
    path.write_text("".join(line + "\n" for line in lines))


def call(command: "list[str]", folder: Path) -> str:
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=True, cwd=folder)
    return done.stdout.decode()


def main() -> None:
    HERE.mkdir(parents=True, exist_ok=True)
    tools = Path(sys.executable).parent
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        sentences(folder / "train.txt", 160, 0)
        sentences(folder / "valid.txt", 24, 1003)
        call(
            [
                str(tools / "fairseq-preprocess"),
                "--only-source",
                "--trainpref",
                "train.txt",
                "--validpref",
                "valid.txt",
                "--destdir",
                "bin",
                "--workers",
                "1",
            ],
            folder,
        )
        for name in FORMATS:
            output = call(
                [
                    str(tools / "fairseq-train"), "bin", "--task", "language_modeling", "--arch", "transformer_lm", "--cpu", "--num-workers", "0",  # noqa: E501
                    "--decoder-layers", "1", "--decoder-embed-dim", "16", "--decoder-ffn-embed-dim", "32", "--decoder-attention-heads", "2",  # noqa: E501
                    "--optimizer", "adam", "--lr", "0.01", "--lr-scheduler", "inverse_sqrt", "--warmup-updates", "8", "--clip-norm", "1.0",  # noqa: E501
                    "--tokens-per-sample", "13", "--max-tokens", "130", "--max-epoch", "4", "--log-interval", "5", "--log-format", name,  # noqa: E501
                    "--no-save", "--seed", "1",
                ],
                folder,
            )  # fmt: skip
            (HERE / f"{name}.log").write_text(
                _PLACES.sub(r"/\1", output).replace(temporary, "/data").replace("/tmp/", "/data/")
            )


if __name__ == "__main__":
    main()
