"""Sixty planted secrets: none is stored, shown or exported, and no name and no hyper-parameter is lost."""

from __future__ import annotations

import json
import random
import string
import time
from dataclasses import fields
from pathlib import Path

import pytest

from traindx.casebook.case import case_of
from traindx.cli import main
from traindx.engine import diagnose
from traindx.live.recording.store import Store
from traindx.readers.find import find_runs
from traindx.reporters import reporters
from traindx.run import Run
from traindx.secrets import hidden, hidden_arguments, hidden_settings

DICE = random.Random(7)


def word(length: int, letters: str = string.ascii_letters + string.digits) -> str:
    return "".join(DICE.choice(letters) for _ in range(length))


PREFIXES = (
    "hf_", "sk-", "sk-proj-", "ghp_", "gho_", "github_pat_", "glpat-", "xoxb-", "xoxp-", "AKIA", "AIza", "eyJ",
    "npm_", "pypi-", "nvapi-", "gsk_", "r8_", "SG.", "ya29.", "dop_v1_",
)  # fmt: skip
BY_PREFIX = [f"{prefix}{word(28)}" for prefix in PREFIXES]
NAMES = (
    "api_key", "wandb.api_key", "password", "db_password", "secret", "client_secret", "token", "hub_token",
    "auth_token", "access_key", "aws.secret_access_key", "authorization", "cookie", "session_id", "dsn",
    "private_key", "credential",
    "passwd", "account_key", "webhook",
)  # fmt: skip
BY_NAME = {name: word(12, string.ascii_lowercase + string.digits) for name in NAMES}
BY_SHAPE = [word(40, "0123456789abcdef") for _ in range(5)] + [f"a7{word(40)}Zq9" for _ in range(9)]
ADDRESSES = [word(14, string.ascii_lowercase) for _ in range(5)]
ENVIRONMENT = word(20, string.ascii_lowercase)
PLANTED = [*BY_PREFIX, *BY_NAME.values(), *BY_SHAPE, *ADDRESSES, ENVIRONMENT]
HARMLESS = {
    "lr": 1e-3, "optimizer": "AdamW", "max_tokens": 4096, "num_tokens": 1000000, "pad_token": "<|endoftext|>",
    "pad_token_id": 50256, "eos_token": "[EOS_TOKEN]", "tokenizer": "bert-base-uncased-whole-word",
    "num_key_value_heads": 8, "key_dim": 64, "author": "somebody", "model": "meta-llama/Llama-3.2-1B-Instruct",
    "run_name": "2026-11-18_gpt2-small_lr3e-4", "data": "/data/imagenet/train/n01440764/n01440764_10026.JPEG",
    "seed": 1234567890, "monitor": "val/token_accuracy",
    "layers": "encoder.layers.11.self_attn.out_proj.weight", "scheduler": "CosineAnnealingWarmRestarts",
    "tokens_per_second": 1e5, "keys": "q,k,v", "authors_note": "trained twice", "secretary": "no",
    "special_tokens": "['<image>', '<audio>']", "checkpoint": "checkpoint-12000/pytorch_model-00001-of-00002.bin",
    "dataset": "wikitext-103-raw-v1-tokenized-1024",
}  # fmt: skip


def everywhere() -> str:
    """A message that has all of them."""
    lines = [f"failed for {secret} now" for secret in [*BY_PREFIX, *BY_SHAPE]]
    lines += [f"{name}={secret}" for name, secret in BY_NAME.items()]
    lines += [f"cannot reach postgres://me:{secret}@db.example/x" for secret in ADDRESSES]
    return "\n".join([*lines, f"refused: {ENVIRONMENT}"])


@pytest.fixture
def planted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MY_SERVICE_TOKEN", ENVIRONMENT)
    store = Store(tmp_path / "run.traindx")
    arguments = [
        "train.py",
        *[part for name, secret in BY_NAME.items() for part in (f"--{name}", secret)],
        *BY_PREFIX,
        *BY_SHAPE,
    ]
    store.line("meta", schema="traindx.recording/2", argv=hidden_arguments(arguments), world=1)
    store.line("config", **BY_NAME, nested={"inner": dict(BY_NAME)}, listed=[*BY_PREFIX, *BY_SHAPE])
    for step in range(40):
        store.row(step, {"train_loss": 2.0 - step / 40})
    store.line("event", event="traceback", text=everywhere(), step=40)
    store.end()
    log = "".join(f"step {step} loss {2 - step / 40:.4f}\n" for step in range(40))
    lines = everywhere().replace("\n", " ")
    (tmp_path / "log").mkdir()
    (tmp_path / "log" / "train.log").write_text(f"{log}Traceback (most recent call last):\nRuntimeError: {lines}\n")
    (tmp_path / "log" / "config.json").write_text(json.dumps({**BY_NAME, "listed": [*BY_PREFIX, *BY_SHAPE], "lr": 0.1}))
    return tmp_path


def found_in(text: str) -> list[str]:
    return [secret for secret in PLANTED if secret in text]


def test_sixty_are_planted() -> None:
    assert len(set(PLANTED)) == 60
    assert found_in(everywhere()) == PLANTED


def fields_of(run: Run) -> list[str]:
    return [repr(getattr(run, one.name)) for one in fields(run)]


def test_none_is_stored_shown_or_exported(planted: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recording = planted / "run.traindx" / "rank-0.jsonl"
    assert found_in(recording.read_text()) == []
    assert recording.stat().st_mode & 0o077 == 0
    for place in (planted / "run.traindx", planted / "log"):
        (run,) = find_runs([place])
        run.save(planted / "saved")
        page = diagnose(run)
        shown = [
            reporter.render([page], color=False, width=100) for name, reporter in reporters().items() if name != "png"
        ]
        everything = [
            (planted / "saved").read_text(),
            repr(run),
            *fields_of(run),
            repr(case_of(page, "diagnose")),
            *map(str, shown),
        ]
        assert [found_in(text) for text in everything] == [[]] * len(everything)
        main(["diagnose", str(place)])
        said = capsys.readouterr()
        assert found_in(said.out + said.err) == []


def test_no_name_and_no_setting_is_lost() -> None:
    assert hidden_settings(HARMLESS) == HARMLESS
    text = "; ".join(f"{name}: {value}" for name, value in HARMLESS.items())
    assert hidden(text) == text
    assert (
        hidden("the token embedding needs secret sauce and a key of 64")
        == "the token embedding needs secret sauce and a key of 64"
    )


def test_whoever_wants_everything_gets_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRAINDX_SCRUB", "off")
    assert hidden(everywhere()) == everywhere()
    assert hidden_settings(BY_NAME) == BY_NAME


def test_shapes_and_names_of_other_makers() -> None:
    digits = "0123456789abcdef"
    texts = {
        word(9, string.ascii_lowercase): shape
        for shape in ("curl -u admin:@ https://host", 'failed for password "@"', "clientSecret: '@'", "smtpPassword=@")
    } | {
        word(32, digits): shape
        for shape in (
            "SK@", "key-@", "dapi@", "sbp_@", "https://outlook.office.com/webhook/@", "encryption_key=@", "ssh_key: @",
            "refreshToken=@", '{"accessToken": "@"}', "https://ci.example/hooks/webhook/@", "jwt=@", "bearer: @",
        )
    }  # fmt: skip
    texts |= {
        word(12, string.ascii_lowercase): shape
        for shape in ("['train.py', '--password', '@']", "auth=('bob', '@')", "user%3Abob%26password%3D@")
    }
    for secret, shape in texts.items():
        assert secret not in hidden(shape.replace("@", secret)), shape
    assert hidden_arguments(["--apiKey", word(20), "--deploy-key", word(20)])[1::2] == ["***", "***"]


HARMLESS_NAMES = (
    "total_tokens added_tokens spatial_tokens dropped_tokens capacity_tokens tokens_seen num_tokens max_new_tokens "
    "token_loss token_accuracy tokens_per_sec_per_gpu per_token_kl mean_token_logprob key_size key_padding_mask "
    "k_proj.weight query_key_norm keypoint_loss keypoints/ap keyword_recall monkey_score turkey_acc author_id "
    "authority_score auth_score_auc pass@10 pass_rate passes passing_yards bypass_ratio compass_error cookie_iou "
    "secret_sharing_loss password_strength_acc session_auc session_length signature_dim sign_accuracy credential_f1 "
    "license_acc encryption_depth otp_f1 salt nonce_len hash_seed cache_key_hits private_epsilon access_count jwt_len"
).split()
HARMLESS_TEXTS = (
    "runs/2024-05-05_10-20-30_AdamW_lr1e-4_bs256_wd0.1_seed42", "Qwen2.5-Coder-32B-Instruct-GPTQ-Int8",
    "MultiheadAttentionWithRelativePositionBias2D", "hub_token=args.hub_token)", "login(password=os.environ['PW'])",
    "commit 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b", "['--key-dim', '64', '--tokens', 'all']",
    "def login(password: str, token=None):", "Trainer(token=cfg.token)", "vit_base_patch16_224.augreg2_in21k_ft_in1k",
)  # fmt: skip


def test_no_name_of_a_metric_is_taken_for_one() -> None:
    for name in HARMLESS_NAMES:
        assert hidden_settings({name: "0.25"}) == {name: "0.25"}
        assert hidden_settings({name: "cosine_with_restarts"}) == {name: "cosine_with_restarts"}
        assert hidden_arguments([f"--{name}", "12"]) == [f"--{name}", "12"]
        for line in (f"{name}=0.123456 step=3", f'"{name}": 12345678,', f"{name} 3.14"):
            assert hidden(line) == line
    for text in HARMLESS_TEXTS:
        assert hidden(text) == text


def test_constants_of_a_script_and_diffs_are_hidden(tmp_path: Path) -> None:
    from traindx.live.measures.statements import statements_of
    from traindx.trials.editing import diff_of

    secret = word(16)
    (tmp_path / "train.py").write_text(f'auth_token = "{secret}"\nlr = 1.0\n')
    diff = diff_of(tmp_path, {"train.py": f'auth_token = "{secret}"\nlr = 0.1\n'})
    assert "+lr = 0.1" in diff
    assert secret not in diff
    assert secret not in str(statements_of(str(tmp_path / "train.py")))


WORDS = "legal winner thank year wave sausage worth useful legal winner thank yellow"
BY_COMMANDS = (  # <> is the secret
    "mysqldump -p<> models > x.sql", "['mysql', '-u', 'root', '-p<>', 'db']", "sshpass -p <> ssh me@host",
    "7z x -p<> data.7z", "redis-cli -h cache -a <> ping", "docker login -u me -p <> registry", "mongosh -u root -p <>",
    "unzip -P <> data.zip", "passphrase is <>", "machine api.host login user password <>", "Authorization: ApiKey <>", "https://<>@host/a/b",
    "https://store/c.pt?sv=2022-11-02&sig=<>", "https://b.s3.host/c.pt?X-Amz-Signature=<>&x=1",
    "https://hooks.host/T0/<>", "key: <> for account bob", "otp: <>", "app.pw = <>", "recovery codes: <> <>",
    "wandb.key=<>",
)  # fmt: skip
NO_SECRETS = (
    "python serve.py -p 8080", "docker run -p 8888:8888 img", "make -j8 -p2", "srun -p gpu-a100-long python train.py",
    "ssh -p 2222 me@host", "mysql -P 3306 -h localhost -p", "mongo -port 27017", "redis-cli -p 6379 -n 2",
    "main.py -a resnet50 -p print_freq_100", "key_accuracy=0.913 step=5", "attn.key.weight max 0.31",
    "KeyError: 'train_loss_epoch'", "missing key(s) in state_dict: \"fc.weight\"", "sort key: val_loss_smoothed",
    "cache key: resnet50-imagenet-224", "jax.random.key(0)", "key=rng, shape=(3, 4)", "image_key=jpg_256x256_v2",
    "key: resnet50d_320x320_fold1", "module key layer4.0.conv2d3x3.weight", "feature key: f32x4d16",
    "key=0x7f3c5b7a99ef12", "query key value 12x64x64", "sig=0.05 significance", "otp accuracy: 0.97", "pat: 10",
    "pw: pointwise conv 1x1", "seed phrase: 42", "recovery phrase detection f1=0.92", "recovery codes: none",
    "the password field accuracy 0.97", "password strength model v2 accuracy 0.91", "https://user@host/path",
    "git@github.com:a/b.git", "?code=200", "cat dog bird fish horse sheep cow zebra bear mouse lion tiger",
    "the quick brown fox jumps over the lazy dog near the river bank today", "backup code path disabled in version 2",
)  # fmt: skip


def test_commands_sentences_and_addresses_that_hold_one() -> None:
    secret = "Zx81kd02mfQ7"
    for shape in BY_COMMANDS:
        assert secret not in hidden(shape.replace("<>", secret)), shape
    assert hidden_arguments(["sshpass", "-p", "fox", "ssh", "h"]) == ["sshpass", "-p", "***", "ssh", "h"]
    assert hidden_arguments(["mysql", "-u", "root", "-pfox", "db"]) == ["mysql", "-u", "root", "-p***", "db"]
    for text in (f"wallet: {WORDS}", f'seed phrase = "{WORDS}"', f"the mnemonic is {WORDS} {WORDS}"):
        assert "winner" not in hidden(text)
    assert hidden_settings({"wallet_mnemonic": WORDS, "key": "a8d7f6e5c4b3"}) == {
        "wallet_mnemonic": "***",
        "key": "***",
    }


def test_options_keys_and_sentences_that_hold_none() -> None:
    for text in NO_SECRETS:
        assert hidden(text) == text
        assert hidden_arguments(text.split(" ")) == text.split(" ")
    kept = {
        "key": "val_loss_epoch",
        "pat": 10,
        "pw": "depthwise",
        "image_key": "pixel_values_224x224",
        "sas": "sas_rec",
    }
    assert hidden_settings(kept) == kept


@pytest.mark.parametrize("piece", ["a_", "a-", "aB-", "docker login ", "http://", "mysql ", "recovery code ", "key "])
def test_a_long_line_takes_no_time(piece: str) -> None:
    began = time.process_time()
    hidden(piece * (50_000 // len(piece)))
    assert time.process_time() - began < 2


def test_the_working_directory_is_no_password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PWD", "/home/me/project")
    monkeypatch.setenv("DB_PWD", "orange-car")
    assert hidden("open('/home/me/project/data.csv') pwd=/home/me/project") == (
        "open('/home/me/project/data.csv') pwd=/home/me/project"
    )
    assert hidden("refused: orange-car, pwd=apple-car") == "refused: ***, pwd=***"
