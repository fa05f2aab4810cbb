"""The dashboard without a browser: what it knows, how it keeps up, and whom it refuses."""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import numpy as np
import pytest

from hostile import HOSTILE
from traindx.casebook.case import case_of
from traindx.casebook.store import CaseBook
from traindx.executors import executor_for
from traindx.server import web
from traindx.server.app import Dashboard
from traindx.server.guard import Answer, Guard
from traindx.server.shelf import Shelf

LOCAL = {"Host": "127.0.0.1:8377"}


def write(path: Path, values: np.ndarray | list[float], start: int = 0) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        file.writelines(
            f'{{"step": {start + i}, "train_loss": {value}, "lr": 0.1}}\n' for i, value in enumerate(values)
        )


def good(steps: int = 200) -> np.ndarray:
    return np.asarray(2 * np.exp(-np.arange(steps) / 40) + 0.3 + 0.01 * np.sin(np.arange(steps) * 1.7))


def bad(steps: int = 200) -> np.ndarray:
    loss = good(steps)
    loss[steps * 2 // 3 :] += np.linspace(0, 30, steps - steps * 2 // 3)
    return loss


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    write(tmp_path / "a-good" / "metrics.jsonl", good())
    write(tmp_path / "b-bad" / "metrics.jsonl", bad())
    for name in ("a-good", "b-bad"):
        os.utime(tmp_path / name / "metrics.jsonl", (1_000_000, 1_000_000))
    return Shelf(tmp_path, executor_for("local", workers=1))


@pytest.fixture
def get(shelf: Shelf) -> Callable[..., Answer]:
    dashboard = Dashboard(shelf, Guard("127.0.0.1"), 8377)
    return lambda target, **headers: dashboard.answer("GET", target, {**LOCAL, **headers})


def test_runs_are_there_before_they_are_read_and_the_sick_one_first_after(
    shelf: Shelf, get: Callable[..., Answer]
) -> None:
    assert [row["verdict"] for row in shelf.rows()] == ["waiting", "waiting"]
    assert b"still to be read" in get("/").body
    shelf.look_again()
    assert [(row["verdict"], row["name"]) for row in shelf.rows()] == [
        ("unhealthy", "b-bad/metrics.jsonl"),
        ("healthy", "a-good/metrics.jsonl"),
    ]
    assert b"UNHEALTHY" not in get("/").body
    assert b"1 unhealthy, 1 healthy" in get("/").body


def test_only_what_changed_is_read_again(shelf: Shelf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shelf.look_again()
    version = shelf.version
    shelf.discover()
    shelf.look_again()
    assert shelf.version == version
    monkeypatch.setattr(shelf, "_clock", lambda: 2e12)  # after any rest
    write(tmp_path / "a-good" / "metrics.jsonl", 30 + bad()[150:], start=200)
    shelf.discover()
    shelf.look_again()
    assert [row["verdict"] for row in shelf.rows()] == ["unhealthy", "unhealthy"]
    assert shelf.version > version


def test_a_growing_run_is_live_and_a_removed_one_is_gone(shelf: Shelf, tmp_path: Path) -> None:
    write(tmp_path / "c-new" / "metrics.jsonl", bad())
    shelf.discover()
    shelf.look_again()
    first = shelf.rows()[0]
    assert (first["name"], first["live"]) == ("c-new/metrics.jsonl", True)
    assert not any(row["live"] for row in shelf.rows()[1:])
    (tmp_path / "c-new" / "metrics.jsonl").unlink()
    shelf.discover()
    assert len(shelf.rows()) == 2


def test_a_run_has_a_page_parts_and_windows(shelf: Shelf, get: Callable[..., Answer]) -> None:
    shelf.look_again()
    run = shelf.rows()[0]["id"]
    assert b"<h1" in get(f"/run/{run}").body
    part = json.loads(get(f"/run/{run}/part").body)
    assert json.loads(get(f"/run/{run}/part?mark={part['mark']}").body) == {"mark": part["mark"]}
    window = json.loads(get(f"/run/{run}/window?first=100&last=120&columns=500").body)
    assert 20 <= len(window["panels"][0]["series"][0]["x"]) <= 24
    for wrong in (
        "",
        "?first=1",
        "?first=nan&last=3&columns=5",
        "?first=9&last=3&columns=5",
        "?first=a&last=3&columns=5",
    ):
        assert get(f"/run/{run}/window{wrong}").status == 400
    for nothing in (
        "/run/nothing",
        "/nothing",
        "/run",
        f"/run/{run}/else",
        "/run/../../etc/passwd",
        f"/run/{quote('../x', safe='')}",
    ):
        assert get(nothing).status == 404


def test_a_million_steps_answer_in_the_size_of_a_screen(tmp_path: Path) -> None:
    values = good(100)
    lines = "step,train_loss\n" + "\n".join(f"{i},{values[i % 100]:.4f}" for i in range(300_000))
    (tmp_path / "long.csv").write_text(lines.replace("\n123456,", "\n123456,9"))
    shelf = Shelf(tmp_path, executor_for("local", workers=1))
    shelf.look_again()
    get = Dashboard(shelf, Guard("127.0.0.1"), 1)
    run = shelf.rows()[0]["id"]
    assert len(get.answer("GET", f"/run/{run}", LOCAL).body) < 1_500_000
    whole = json.loads(get.answer("GET", f"/run/{run}/window?first=0&last=300000&columns=900", LOCAL).body)["panels"][
        0
    ]["series"][0]
    assert len(whole["x"]) <= 900
    assert max(whole["hi"]) > 90  # the spike is still there
    near = json.loads(get.answer("GET", f"/run/{run}/window?first=123400&last=123500&columns=900", LOCAL).body)[
        "panels"
    ][0]["series"][0]
    assert "lo" not in near  # close by, every value is itself


def test_comparing_needs_two_runs(shelf: Shelf, get: Callable[..., Answer]) -> None:
    shelf.look_again()
    one, other = (row["id"] for row in shelf.rows())
    page = get(f"/compare?run={one}&run={other}").body.decode()
    assert "b-bad" in page
    assert "lower is better" in page
    assert get(f"/compare?run={one}").status == 404
    assert get("/compare?run=nothing&run=none").status == 404


def test_other_names_for_this_machine_are_refused() -> None:
    local = Guard.of("127.0.0.1", ("box.example",))
    for name in ("127.0.0.1", "127.0.0.1:99", "localhost:8377", "[::1]:8377", "LOCALHOST", "box.example:1"):
        assert local.knows(name), name
    for name in ("evil.example", "127.0.0.1.evil.example", "192.168.0.9", "", None, "localhost.evil.example:8377"):
        assert not local.knows(name), name
    wide = Guard.of("0.0.0.0")
    assert wide.knows("192.168.0.9:8377")
    assert not wide.knows("evil.example:8377")
    assert not Guard.of("127.0.0.1", open_here=True).token
    assert Guard.of("0.0.0.0", open_here=True).token
    assert len(local.token) >= 24
    assert len(wide.token) >= 24


def test_beyond_the_machine_a_token_is_needed(shelf: Shelf) -> None:
    guard = Guard.of("0.0.0.0")
    dashboard = Dashboard(shelf, guard, 8377)
    host = {"Host": "10.0.0.3:8377"}
    assert dashboard.answer("GET", "/", host).status == 401
    assert dashboard.answer("GET", "/?token=wrong", host).status == 401
    admitted = dashboard.answer("GET", f"/compare?run=a&token={guard.token}", host)
    assert (admitted.status, admitted.headers["Location"]) == (303, "/compare?run=a")
    cookie = admitted.headers["Set-Cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert dashboard.answer("GET", "/", {**host, "Cookie": cookie.partition(";")[0]}).status == 200
    assert dashboard.answer("GET", "/", {**host, "Authorization": f"Bearer {guard.token}"}).status == 200
    assert dashboard.answer("GET", f"//evil.example?token={guard.token}", host).headers["Location"] == "/"


def test_it_only_reads_and_keeps_to_itself(shelf: Shelf, get: Callable[..., Answer]) -> None:
    dashboard = Dashboard(shelf, Guard("127.0.0.1"), 8377)
    for method in ("POST", "PUT", "DELETE", "OPTIONS"):
        assert dashboard.answer(method, "/", LOCAL).status == 405
    assert get("/", **{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "cors"}).status == 403
    headers = get("/").headers
    assert "default-src 'none'" in headers["Content-Security-Policy"]
    assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert "Access-Control-Allow-Origin" not in headers
    small = get("/", **{"Accept-Encoding": "gzip"})
    assert small.headers["Content-Encoding"] == "gzip"
    assert gzip.decompress(small.body) == get("/").body


def test_hostile_file_names_are_text(tmp_path: Path) -> None:
    for number, name in enumerate(HOSTILE):
        write(tmp_path / f"{number}{name.replace('/', '∕')[:60]}.jsonl", good(40))
    shelf = Shelf(tmp_path, executor_for("local", workers=1))
    dashboard = Dashboard(shelf, Guard("127.0.0.1"), 1)
    for _ in range(2):  # before and after they are read
        page = dashboard.answer("GET", "/", LOCAL).body.decode()
        assert "<script>window" not in page
        assert "<img" not in page
        shelf.look_again()
    assert len(shelf.rows()) == len(HOSTILE)


def test_the_case_book_has_a_page(
    get: Callable[..., Answer], shelf: Shelf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRAINDX_CASES", str(tmp_path / "book" / "cases.sqlite"))
    assert b"no case book here yet" in get("/cases").body
    shelf.look_again()
    opened = shelf.open(shelf.rows()[0]["id"])
    assert opened is not None
    book = CaseBook(tmp_path / "book" / "cases.sqlite")
    book.create()
    case = book.remember(case_of(opened.diagnosis, "diagnose"))
    page = get("/cases").body.decode()
    assert f'href="/run/{shelf.rows()[0]["id"]}"' in page, "the case leads to its run"
    assert f"traindx cases confirm {case.id}</code>" in page
    book.change(case.id, status="confirmed", cause="lr-too-high", note="<script>window.owned=1</script>")
    page = get("/cases").body
    assert b"lr-too-high" in page
    assert b"confirmed" in page
    assert b"<script>window" not in page


def test_a_row_has_loss_rate_and_duration_and_keeps_what_is_not_finite(tmp_path: Path) -> None:
    rows = [f"{step},{'nan' if step > 40 else 2.0 / (step + 1)},0.1,{1000.0 + 2 * step}" for step in range(60)]
    (tmp_path / "log.csv").write_text("step,train_loss,lr,timestamp\n" + "\n".join(rows) + "\n")
    shelf = Shelf(tmp_path)
    shelf.discover()
    shelf.look_again()
    (row,) = shelf.rows()
    assert row["loss"] == {"text": "NaN", "value": None}
    assert row["lr"] == {"text": "0.1", "value": 0.1}
    assert row["seconds"]["value"] == pytest.approx(118.0)
    assert row["spark"][-1] is None
    assert 1.0 in row["spark"]


def test_connections_are_bounded_and_slow_clients_closed(
    shelf: Shelf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(web, "MOST_CONNECTIONS", 3)
    monkeypatch.setattr(web, "REQUEST_SECONDS", 1.0)
    server = web.open_server(tmp_path, "127.0.0.1", 0, shelf=shelf)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = ("127.0.0.1", server.server_address[1])
    try:
        slow = [socket.create_connection(address, 10) for _ in range(3)]
        for one in slow:
            one.sendall(b"GET / HTTP/1.1\r\nHost: ")
        time.sleep(0.3)
        with socket.create_connection(address, 10) as more:
            assert more.recv(1) == b""  # no room: closed at once
        ends = time.monotonic() + 8
        while server.waiting and time.monotonic() < ends:
            for one in slow:
                with contextlib.suppress(OSError):
                    one.sendall(b"x")
            time.sleep(0.2)
        assert not server.waiting
        with socket.create_connection(address, 10) as next_one:
            next_one.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
            assert b"401" in next_one.recv(4000)
    finally:
        server.shutdown()
        server.server_close()


def test_an_empty_directory_says_what_to_do(tmp_path: Path) -> None:
    from traindx.server.pages import index

    empty = Shelf(tmp_path, executor_for("local", workers=1))
    empty.look_again()
    assert "Record a training in this directory with <code>traindx run train.py</code>" in index(empty)
