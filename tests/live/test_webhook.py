"""Alerts to webhooks: in the service's own words, rarely, never in the training's way, and with the secret kept."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from traindx.errors import TraindxError
from traindx.live.outside.webhook import TIMEOUT, Address, Alerter, address_of, request_for

SECRET = "T0P/s3cr3t"
SCRIPT = """
import torch
model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3), torch.nn.Softmax(dim=1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x, y = torch.randn(64, 4), torch.randint(0, 3, (64,))
for step in range(150):
    optimizer.zero_grad()
    torch.nn.functional.cross_entropy(model(x), y).backward()
    optimizer.step()
raise SystemExit(7)
"""


class Inbox(ThreadingHTTPServer):
    """Keeps what is posted; `answer` is its status code, `delay` the seconds it takes."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.posts: list[tuple[str, Any]] = []
        self.answer, self.delay = 200, 0.0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/services/{SECRET}"


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        inbox = self.server
        assert isinstance(inbox, Inbox)
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        time.sleep(inbox.delay)
        inbox.posts.append((self.path, body))
        self.send_response(inbox.answer)
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        return


@pytest.fixture
def inbox() -> Iterator[Inbox]:
    server = Inbox()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize(
    ("text", "service"),
    [
        ("https://hooks.slack.com/services/T/B/x", "slack"),
        ("https://discord.com/api/webhooks/1/x", "discord"),
        ("https://ntfy.sh/my-runs", "ntfy"),
        ("ntfy+https://push.example.org/topic", "ntfy"),
        ("slack+https://chat.example.org/hooks/x", "slack"),
        ("https://example.org/hook?a=b+c", "json"),
    ],
)
def test_the_service_is_told_by_the_host_or_by_a_prefix(text: str, service: str) -> None:
    address = address_of(text)
    assert address.service == service
    assert address.url.startswith("https://")
    assert "hook" not in address.shown.replace("hooks.slack.com", "")


@pytest.mark.parametrize(
    "text", [f"ftp://host/{SECRET}", SECRET, "", "https://", f"http://[{SECRET}", "https://ntfy.sh/"]
)
def test_what_is_no_address_is_refused_without_repeating_it(text: str) -> None:
    with pytest.raises(TraindxError) as refusal:
        address_of(text)
    assert "--alert" in str(refusal.value)
    assert SECRET not in str(refusal.value)


def test_each_service_gets_its_own_words() -> None:
    lines = ["step 3: <!channel> @everyone & NaN", "x" * 5000]
    _, slack = request_for(Address("slack", "https://s/x"), "train", lines)
    assert "&lt;!channel&gt;" in slack["text"]
    _, discord = request_for(Address("discord", "https://d/x"), "train", lines)
    assert len(discord["content"]) <= 2000
    assert discord["allowed_mentions"] == {"parse": []}
    url, ntfy = request_for(Address("ntfy", "https://n/base/topic"), "train", lines)
    assert (url, ntfy["topic"]) == ("https://n/base/", "topic")
    _, plain = request_for(Address("json", "https://p/x"), "train", lines)
    assert plain["schema"] == "traindx.alert/1"
    assert plain["alerts"] == lines


def test_alerts_within_the_cool_down_are_sent_together(inbox: Inbox) -> None:
    alerter = Alerter([address_of(inbox.url)], "train", lambda problem: None, cool_down=3600)
    for text in ("first", "second", "third"):
        alerter.tell(text)
    alerter.close("last")
    assert [body["alerts"] for _, body in inbox.posts] == [["first"], ["second", "third", "last"]]


def test_a_server_that_is_slow_refuses_or_redirects_costs_nothing_and_is_told_once(inbox: Inbox) -> None:
    inbox.answer, inbox.delay = 302, 0.3
    told: list[str] = []
    addresses = [address_of(inbox.url), address_of(f"http://127.0.0.1:1/{SECRET}")]
    alerter = Alerter(addresses, "train", told.append, cool_down=0)
    began = time.perf_counter()
    for number in range(3):
        alerter.tell(str(number))
    assert time.perf_counter() - began < 0.2
    alerter.close()
    assert time.perf_counter() - began < TIMEOUT + 1
    assert len(told) == 2
    assert "302" in told[0]
    assert SECRET not in "".join(told)


def test_a_run_posts_what_is_wrong_annotates_it_and_keeps_exit_code_and_secret(tmp_path: Path, inbox: Inbox) -> None:
    (tmp_path / "train.py").write_text(SCRIPT)
    command = [
        sys.executable,
        "-m",
        "traindx",
        "run",
        "--format",
        "github",
        "--alert",
        f"slack+{inbox.url}",
        "train.py",
    ]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 7
    assert done.stdout.startswith("::error file=train.py,line=")
    assert SECRET not in done.stdout + done.stderr
    texts = [body["text"] for path, body in inbox.posts if path.endswith(SECRET)]
    assert texts
    assert "softmax-before-cross-entropy" in texts[-1]
    assert "code 7" in texts[-1]
