"""The socket: the standard library's threaded HTTP server, which is enough for the few people who watch a training."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from traindx.errors import TraindxError
from traindx.server.app import Dashboard
from traindx.server.guard import Answer, Guard
from traindx.server.shelf import Shelf

DEFAULT_PORT = 8377
NEIGHBOURS = 20  # ports tried after the default one, which another dashboard may have
IDLE_SECONDS = 30.0  # for which a connection may say nothing
REQUEST_SECONDS = 20.0  # in which a request must have been sent, and its answer taken
MOST_CONNECTIONS = 48  # at a time; a browser opens up to six


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64
    dashboard: Dashboard

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.free = threading.BoundedSemaphore(MOST_CONNECTIONS)
        self.waiting: dict[socket.socket, float] = {}  # for the client, since when

    def process_request(self, request: Any, client_address: Any) -> None:
        """Every connection has a thread, and there are so many."""
        if self.free.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        self.waiting[request] = time.monotonic()
        try:
            super().process_request_thread(request, client_address)
        finally:
            self.waiting.pop(request, None)
            self.free.release()

    def service_actions(self) -> None:
        """Called about twice a second: whoever sends or takes a byte now and then is let go."""
        late = time.monotonic() - REQUEST_SECONDS
        for connection, since in list(self.waiting.items()):
            if since < late:
                with contextlib.suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A browser that closes a connection early is nothing to report."""


class _Server6(Server):
    address_family = socket.AF_INET6


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = IDLE_SECONDS
    server: Server

    def _respond(self) -> None:
        self.server.waiting.pop(self.connection, None)  # from here on it waits for us
        try:
            answer = self.server.dashboard.answer(self.command, self.path, self.headers)  # type: ignore[arg-type]
        except Exception as error:
            text = f"internal error ({type(error).__name__}): this is a bug in traindx."
            answer = Answer(text.encode(), "text/plain; charset=utf-8", 500)
        if int(self.headers.get("Content-Length") or 0) or self.headers.get("Transfer-Encoding"):
            self.close_connection = True  # a body that nobody reads must not be taken for the next request
        self.server.waiting[self.connection] = time.monotonic()
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.kind)
        self.send_header("Content-Length", str(len(answer.body)))
        for name, value in answer.headers.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(answer.body)
        # the next request may take its time to come, though none to be sent
        self.server.waiting[self.connection] = time.monotonic() + IDLE_SECONDS

    do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = do_PATCH = do_OPTIONS = _respond

    def version_string(self) -> str:
        return "traindx"

    def log_message(self, format: str, *arguments: Any) -> None:
        """Requests are not talked about: addresses can hold names of runs."""


def open_server(
    folder: Path,
    host: str,
    port: int | None,
    names: tuple[str, ...] = (),
    shelf: Shelf | None = None,
    *,
    open_here: bool = False,
) -> Server:
    """A server that is bound and ready; `serve_forever` runs it. Without a port the default one or one of its
    neighbours is taken."""
    guard = Guard.of(host, names, open_here=open_here)
    kind = _Server6 if ":" in host else Server
    wanted = range(DEFAULT_PORT, DEFAULT_PORT + NEIGHBOURS) if port is None else [port]
    problem: OSError | None = None
    for number in wanted:
        try:
            server = kind((host, number), Handler)
            break
        except OSError as error:
            problem = error
    else:
        assert problem is not None
        raise TraindxError(
            f"{host}:{wanted[0]} cannot be served on: {problem.strerror or problem}.",
            "Choose another --port or --host.",
        )
    server.dashboard = Dashboard(shelf or Shelf(folder), guard, server.server_address[1])
    return server


def address_of(server: Server) -> str:
    """What to open in a browser."""
    host, port = server.dashboard.guard.host, server.server_address[1]
    shown = f"[{host}]" if ":" in host else socket.gethostname() if host == "0.0.0.0" else host
    token = server.dashboard.guard.token
    return f"http://{shown}:{port}/" + (f"?token={token}" if token else "")
