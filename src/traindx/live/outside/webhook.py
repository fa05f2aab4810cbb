"""Alerts to a webhook: Slack, Discord, ntfy, or plain JSON to anything else.

A thread of its own sends, so that a slow or dead server costs the training nothing. The address is a secret and is only
ever shown up to its host."""

from __future__ import annotations

import json
import queue
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import SplitResult, urlsplit, urlunsplit

from traindx.errors import TraindxError
from traindx.version import __version__

Service = Literal["slack", "discord", "ntfy", "json"]
SERVICES: tuple[Service, ...] = ("slack", "discord", "ntfy", "json")
SCHEMA = "traindx.alert/1"
TIMEOUT = 5.0  # seconds one request may take, and the longest the end of a run waits for the last one
COOL_DOWN = 300.0  # seconds between two messages; what comes in between is sent together
LONGEST = 1900  # characters of a message: Discord refuses more than 2000


@dataclass(frozen=True)
class Address:
    """Where alerts go and in whose words."""

    service: Service
    url: str

    @property
    def shown(self) -> str:
        """The address without its secret."""
        return f"{self.service} at {urlsplit(self.url).hostname}"


def address_of(text: str) -> Address:
    """From 'https://hooks.slack.com/…', or 'slack+https://…' where the host does not tell. Raises TraindxError; what
    was given is never repeated, it holds a secret."""
    named, plus, rest = text.partition("+")
    prefixed = plus == "+" and named.lower() in SERVICES
    try:
        parts = urlsplit(rest if prefixed else text)
        host = parts.hostname or ""
    except ValueError:
        parts, host = SplitResult("", "", "", "", ""), ""
    if parts.scheme not in ("http", "https") or not host:
        raise TraindxError(
            "--alert is no web address.", "Give https://… or, where the host does not tell the service, slack+https://…"
        )
    service = next(s for s in SERVICES if s == named.lower()) if prefixed else _service_at(host)
    if service == "ntfy" and not parts.path.strip("/"):
        raise TraindxError("--alert names an ntfy server without a topic.", "Give https://ntfy.sh/your-topic")
    return Address(service, urlunsplit(parts))


def _service_at(host: str) -> Service:
    if host == "hooks.slack.com":
        return "slack"
    if host in ("discord.com", "discordapp.com") or host.endswith(".discord.com"):
        return "discord"
    return "ntfy" if host == "ntfy.sh" or host.startswith("ntfy.") else "json"


def request_for(address: Address, run: str, lines: Sequence[str]) -> tuple[str, dict[str, Any]]:
    """The address to post to and what to post."""
    title = f"traindx: {run}"
    text = "\n".join(lines)
    text = text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
    if address.service == "slack":
        safe = f"*{title}*\n{text}".replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
        return address.url, {"text": safe}
    if address.service == "discord":
        return address.url, {"content": f"**{title}**\n{text}"[:2000], "allowed_mentions": {"parse": []}}
    if address.service == "ntfy":
        parts = urlsplit(address.url)
        base, _, topic = parts.path.rstrip("/").rpartition("/")
        server = urlunsplit(parts._replace(path=f"{base}/"))
        return server, {"topic": topic, "title": title, "message": text, "priority": 4, "tags": ["warning"]}
    return address.url, {"schema": SCHEMA, "run": run, "alerts": list(lines), "text": text, "traindx": __version__}


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A webhook that points elsewhere is an error: a secret must not travel on."""

    def redirect_request(self, *args: Any, **kwargs: Any) -> None:
        return None


def post(address: Address, run: str, lines: Sequence[str]) -> str | None:
    """Send one message; what went wrong in a few words, or None."""
    url, body = request_for(address, run, lines)
    headers = {"Content-Type": "application/json", "User-Agent": f"traindx/{__version__}"}
    request = urllib.request.Request(url, json.dumps(body).encode(), headers, method="POST")
    try:
        with urllib.request.build_opener(_NoRedirect).open(request, timeout=TIMEOUT):
            return None
    except urllib.error.HTTPError as error:
        return f"it answered {error.code}"
    except urllib.error.URLError as error:
        return str(getattr(error.reason, "strerror", None) or error.reason)
    except (OSError, ValueError) as error:
        return str(getattr(error, "strerror", None) or type(error).__name__)


@dataclass
class Alerter:
    """Sends what it is reported, never more often than the cool-down, never in the caller's time."""

    addresses: Sequence[Address]
    run: str
    complain: Callable[[str], None]
    cool_down: float = COOL_DOWN
    _waiting: list[str] = field(default_factory=list)
    _next: float = 0.0
    _queue: queue.Queue[list[str] | None] = field(default_factory=queue.Queue)
    _thread: threading.Thread | None = None

    def tell(self, text: str) -> None:
        self._waiting.append(text)
        self.tick()

    def tick(self) -> None:
        """Hand over what waits, if the cool-down is over."""
        if self._waiting and time.monotonic() >= self._next:
            self._next = time.monotonic() + self.cool_down
            self._hand_over()

    def close(self, last: str | None = None) -> None:
        """Send what still waits and `last`; wait for it a few seconds, not longer."""
        if last is not None:
            self._waiting.append(last)
        if self._waiting:
            self._hand_over()
        if self._thread is not None:
            self._queue.put(None)
            self._thread.join(TIMEOUT)

    def _hand_over(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._send, daemon=True, name="traindx-alerts")
            self._thread.start()
        self._queue.put(self._waiting)
        self._waiting = []

    def _send(self) -> None:
        failed: set[Address] = set()  # each complaint once: a dead server is no news the second time
        while (lines := self._queue.get()) is not None:
            for address in self.addresses:
                problem = post(address, self.run, lines)
                if problem is not None and address not in failed:
                    failed.add(address)
                    self.complain(f"an alert to {address.shown} was not delivered: {problem}. The training goes on.")
