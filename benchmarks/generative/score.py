"""Scores `traindx run` on small GANs and diffusion models, sound ones of many styles and some with one fault.

    python benchmarks/generative/score.py [--seeds 0 1] [--only NAME…] [--verbose]

Every training runs in a directory of its own, a few seconds each. A faulty one is right where its cause comes first."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

PROGRAMS = Path(__file__).parent / "programs"
SOUND = {
    "gan": "", "gan, generator first": "--first generator", "gan of pictures": "--data pictures",
    "hinge gan": "--loss hinge", "least-squares gan": "--loss least-squares", "wasserstein gan": "--loss wasserstein",
    "denoiser": "--sampler noise", "denoiser, cosine": "--schedule cosine", "denoiser, 200 times": "--schedule short",
    "denoiser of points": "--data points", "denoiser, loss written out": "--loss written-out --sampler ddim",
    "denoiser of data": "--target data --sampler data", "denoiser of velocity": "--target velocity",
    "flow matching": "--schedule flow", "denoiser, huber": "--loss huber",
}  # fmt: skip
FAULTY = {
    "gan, strong discriminator": ("--fault strong-discriminator", "discriminator-too-strong"),
    "minimax gan, strong discriminator": ("--loss minimax --fault strong-discriminator", "discriminator-too-strong"),
    "gan of pictures, strong discriminator": (
        "--data pictures --fault strong-discriminator --first generator", "discriminator-too-strong",
    ),
    "gan, collapse": ("--fault collapse", "mode-collapse"),
    "gan of pictures, same noise": ("--data pictures --fault same-noise", "mode-collapse"),
    "hinge gan, same noise": ("--loss hinge --fault same-noise", "mode-collapse"),
    "denoiser, few times": ("--fault few-times", "noise-schedule-wrong"),
    "denoiser, reversed": ("--fault reversed --loss huber", "noise-schedule-wrong"),
    "denoiser of points, not cumulated": ("--data points --fault alphas-not-cumulated", "noise-schedule-wrong"),
    "denoiser, other noise": ("--fault other-noise", "wrong-prediction-target"),
    "denoiser of points, other noise": (
        "--data points --fault other-noise --loss written-out", "wrong-prediction-target",
    ),
    "denoiser of noise, sampled as data": ("--sampler data", "wrong-prediction-target"),
    "denoiser of data, sampled as noise": ("--target data --sampler noise", "wrong-prediction-target"),
    "denoiser of data, sampled by ddim": ("--target data --sampler ddim --schedule cosine", "wrong-prediction-target"),
}  # fmt: skip


def diagnosed(name: str, words: str, seed: int) -> dict[str, object]:
    program = PROGRAMS / ("gan.py" if "gan" in name else "denoiser.py")
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "page.json"
        command = [sys.executable, "-m", "traindx", "run", "-q", "--json", str(page), "--to", f"{folder}/run.traindx"]
        subprocess.run(
            [*command, str(program), *words.split(), "--seed", str(seed)], cwd=folder, check=False,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=600,
        )  # fmt: skip
        found = json.loads(page.read_text())
    page_of = found[0] if isinstance(found, list) else found
    return dict(page_of)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1])
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    cases = [(name, words, "healthy") for name, words in SOUND.items()]
    cases += [(name, words, cause) for name, (words, cause) in FAULTY.items()]
    counts = {"healthy": 0, "unhealthy": 0, "sound": 0, "faulty": 0, "right": 0, "seen": 0}
    for name, words, cause in cases:
        if options.only and name not in options.only:
            continue
        for seed in options.seeds:
            page = diagnosed(name, words, seed)
            verdict, ranked = str(page["verdict"]), page["hypotheses"]
            assert isinstance(ranked, list)
            first = ranked[0]["cause"] if ranked else ""
            if cause == "healthy":
                counts["sound"] += 1
                counts["healthy"] += verdict == "healthy"
                counts["unhealthy"] += verdict == "unhealthy"
            else:
                counts["faulty"] += 1
                counts["seen"] += verdict == "unhealthy"
                counts["right"] += first == cause and verdict != "healthy"
            if options.verbose:
                print(
                    f"{name} (seed {seed}): {verdict}, {first} {ranked[0]['confidence'] if ranked else 0:.0%}",
                    flush=True,
                )
    print("| trainings | sound called healthy | sound called unhealthy | faulty called unhealthy | right cause first |")
    print("|---|---|---|---|---|")
    print(
        f"| {counts['sound'] + counts['faulty']} | {counts['healthy']}/{counts['sound']} | "
        f"{counts['unhealthy']}/{counts['sound']} | {counts['seen']}/{counts['faulty']} | "
        f"{counts['right']}/{counts['faulty']} |"
    )


if __name__ == "__main__":
    main()
