"""From a request to its answer, without a socket: which page it asks for, and whether it may."""

from __future__ import annotations

import gzip
import json
import math
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from traindx.errors import TraindxError
from traindx.server import pages
from traindx.server.book import cases_page
from traindx.server.compared import compare_page
from traindx.server.guard import HEADERS, Answer, Guard, cookie_name
from traindx.server.shelf import Opened, Shelf

MOST_COLUMNS = 4000
MOST_COMPARED = 200
COMPRESS_FROM = 4096
LONGEST_TARGET = 16_384
Query = Mapping[str, list[str]]


class Dashboard:
    """All pages of one directory."""

    def __init__(self, shelf: Shelf, guard: Guard, port: int) -> None:
        self.shelf, self.guard, self.port = shelf, guard, port

    def answer(self, method: str, target: str, headers: Mapping[str, str]) -> Answer:
        """What to send back; with the headers that keep the page to itself, and small where the browser allows it."""
        answer = self._answer(method, target, headers)
        more = {**HEADERS, "Content-Security-Policy": pages.POLICY, **answer.headers}
        body = answer.body
        if len(body) >= COMPRESS_FROM and "gzip" in headers.get("Accept-Encoding", ""):
            body = gzip.compress(body, 3)
            more["Content-Encoding"] = "gzip"
        return Answer(body, answer.kind, answer.status, more)

    def _answer(self, method: str, target: str, headers: Mapping[str, str]) -> Answer:
        refusal = self.guard.refuses(headers)
        if refusal is not None:
            return _plain(refusal, 403)
        if method not in ("GET", "HEAD"):
            return _plain("This dashboard only reads.", 405, {"Allow": "GET, HEAD"})
        if len(target) > LONGEST_TARGET:
            return _plain("That address is too long.", 414)
        address = urlsplit(target)
        query = parse_qs(address.query)
        token = query.get("token", [None])[0]
        if not self.guard.lets_in(headers, token, self.port):
            return _plain("A token is needed: open the address that `traindx serve` printed.", 401)
        if self.guard.token and token is not None:
            return self._admit(address.path, query)
        return self._page(address.path, query)

    def _admit(self, path: str, query: Query) -> Answer:
        """Keep the token in a cookie and take it out of the address, where others could see it."""
        rest = urlencode([(key, value) for key, values in query.items() for value in values if key != "token"])
        cookie = f"{cookie_name(self.port)}={self.guard.token}; Path=/; HttpOnly; SameSite=Strict"
        place = "/" + path.lstrip("/") + (f"?{rest}" if rest else "")
        return Answer(b"", status=303, headers={"Location": place, "Set-Cookie": cookie})

    def _page(self, path: str, query: Query) -> Answer:
        parts = [part for part in path.split("/") if part]
        if not parts:
            return _html(pages.index(self.shelf))
        if parts == ["runs"]:
            return self._rows(query)
        if parts == ["compare"]:
            return self._compare(query)
        if parts == ["cases"]:
            return self._cases()
        views: dict[str, Callable[[str, Opened, Query], Answer]] = {
            "": self._run,
            "part": self._part,
            "window": self._window,
        }
        if parts[0] == "run" and len(parts) in (2, 3) and (parts[2] if len(parts) == 3 else "") in views:
            opened = self.shelf.open(parts[1])
            if opened is not None:
                return views[parts[2] if len(parts) == 3 else ""](parts[1], opened, query)
        return _html(pages.message("Not found", "There is no such page, or its run is gone."), 404)

    def _rows(self, query: Query) -> Answer:
        """The table's rows, or nothing where the asker knows this version."""
        version = self.shelf.version
        if query.get("version", [""])[0] == str(version) and not any(row.get("live") for row in self.shelf.rows()):
            return _json({"version": version})
        return _json({"version": version, "rows": self.shelf.rows()})

    def _compare(self, query: Query) -> Answer:
        chosen = [card for name in query.get("run", [])[:MOST_COMPARED] if (card := self.shelf.card(name)) is not None]
        try:
            return _html(compare_page(chosen))
        except TraindxError as error:
            return _html(pages.message("Nothing to compare", str(error)), 404)

    def _cases(self) -> Answer:
        try:
            return _html(cases_page(self.shelf.identifiers()))
        except TraindxError as error:
            return _html(pages.message("Case book", str(error)), 404)

    def _run(self, identifier: str, opened: Opened, query: Query) -> Answer:
        return _html(pages.run_page(identifier, opened))

    def _part(self, identifier: str, opened: Opened, query: Query) -> Answer:
        """The changing part of a run's page, unless the asker has it."""
        mark = pages.mark_of(opened)
        if query.get("mark", [""])[0] == mark:
            return _json({"mark": mark})
        return _json({"mark": mark, "live": opened.live, "html": pages.run_part(opened)})

    def _window(self, identifier: str, opened: Opened, query: Query) -> Answer:
        """The curves between two steps, as fine as the screen."""
        try:
            first, last = float(query["first"][0]), float(query["last"][0])
            columns = int(query["columns"][0])
        except (KeyError, ValueError):
            return _plain("A window needs first, last and columns.", 400)
        if not (math.isfinite(first) and math.isfinite(last) and first <= last):
            return _plain("A window needs two steps in order.", 400)
        return _json({"panels": opened.plots.window(min(max(columns, 10), MOST_COLUMNS), first, last)})


def _html(text: str, status: int = 200) -> Answer:
    return Answer(text.encode("utf-8", "replace"), status=status)


def _json(data: Any) -> Answer:
    return Answer(json.dumps(data, allow_nan=False).encode(), "application/json")


def _plain(text: str, status: int, headers: Mapping[str, str] | None = None) -> Answer:
    return Answer(text.encode(), "text/plain; charset=utf-8", status, headers or {})
