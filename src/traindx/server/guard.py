"""Who may ask: the right host name, the token where one is needed, and only to read."""

from __future__ import annotations

import hmac
import ipaddress
import secrets
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie

HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
    "Cache-Control": "no-store",
}


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


@dataclass(frozen=True)
class Guard:
    """The rules of one server. A page elsewhere can make a browser send requests here under a name that points to this
    machine (DNS rebinding), so the name must be one of ours. A token is needed besides: other users of this machine
    reach its loopback address too. The address that is printed holds it."""

    host: str
    names: tuple[str, ...] = ()
    token: str = ""

    @classmethod
    def of(cls, host: str, names: tuple[str, ...] = (), *, open_here: bool = False) -> Guard:
        """`open_here` leaves the token out on the loopback address."""
        return cls(host, names, "" if open_here and is_loopback(host) else secrets.token_urlsafe(24))

    def knows(self, header: str | None) -> bool:
        """Whether the Host header names this server: a number, since numbers cannot be rebound, or a name of this
        machine."""
        name = _name(header or "")
        if is_loopback(name) or name in (self.host, *self.names):
            return bool(name)
        if is_loopback(self.host):
            return False
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return name in (socket.gethostname().lower(), socket.getfqdn().lower())
        return True

    def refuses(self, headers: Mapping[str, str]) -> str | None:
        """Why a request is refused before it is looked at; None where it is not."""
        if not self.knows(headers.get("Host")):
            return "This server does not go by that name. Use its address, or start it with --allow-host NAME."
        if headers.get("Sec-Fetch-Site") == "cross-site" and headers.get("Sec-Fetch-Mode") != "navigate":
            return "Pages of other sites may not ask here."
        return None

    def lets_in(self, headers: Mapping[str, str], given: str | None, port: int) -> bool:
        """Whether the token, where one is needed, came in the address, a cookie or an Authorization header."""
        if not self.token:
            return True
        offered = [given or "", headers.get("Authorization", "").removeprefix("Bearer ")]
        try:
            cookie = SimpleCookie(headers.get("Cookie", "")).get(cookie_name(port))
        except CookieError:
            cookie = None
        offered.append(cookie.value if cookie is not None else "")
        return any(hmac.compare_digest(one.encode(), self.token.encode()) for one in offered)


def cookie_name(port: int) -> str:
    """Cookies do not tell ports apart, so the name does."""
    return f"traindx-{port}"


def _name(header: str) -> str:
    """The host of a Host header, without its port."""
    header = header.strip().lower()
    if header.startswith("["):
        return header[1:].partition("]")[0]
    return header.rpartition(":")[0] if header.count(":") == 1 else header


@dataclass(frozen=True)
class Answer:
    """What is sent back."""

    body: bytes
    kind: str = "text/html; charset=utf-8"
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
