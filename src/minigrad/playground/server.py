"""`minigrad play`: the playground's folder on this machine alone, by the standard library.

Only files of the folder are read, by a list made at the start. A page of another site can reach a
local server, with this name (it is refused by its Origin) or with one of its own that resolves to
this machine (it is refused by its Host). Programs never run here: they run in the reader's browser.
With `answers`, POST /answer answers requests about expressions, for whoever knows the token.
"""

from __future__ import annotations

import hmac
import json
import secrets
import sys
import threading
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from . import SAFE, answer

LARGEST = 100_000  # bytes of a request
SECONDS = 10.0  # for a request to arrive, and for its answer
TOKEN = "X-Minigrad-Token"

TYPES = {
    ".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8",
    ".mjs": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8",
    ".json": "application/json", ".wasm": "application/wasm", ".zip": "application/zip",
    ".gz": "application/gzip", ".txt": "text/plain; charset=utf-8", "": "text/plain; charset=utf-8",
}  # fmt: skip
HEADERS = {
    # That of the page, and who may show it in a frame, which a page cannot say itself.
    "Content-Security-Policy": "default-src 'none'; script-src 'self' blob: 'wasm-unsafe-eval'; "
    "style-src 'self'; connect-src 'self' blob:; worker-src blob:; img-src 'self' data: blob:; "
    "frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
}


class Refused(Exception):  # noqa: N818 - it is an answer
    """A request that gets no other answer than this."""

    def __init__(self, status: HTTPStatus, why: str) -> None:
        super().__init__(why)
        self.status = status


class Server(ThreadingHTTPServer):
    """The server of one folder; `port=0` takes any that is free."""

    daemon_threads = True

    def __init__(self, folder: Path, port: int = 0, *, answers: bool = False) -> None:
        files = (path for path in folder.rglob("*") if path.is_file())
        self.files = {f"/{path.relative_to(folder).as_posix()}": path for path in files}
        self.files["/"] = self.files["/index.html"]
        self.token = secrets.token_urlsafe(24) if answers else ""
        self.turn = threading.Lock()  # one answer at a time: each takes a whole core
        super().__init__(("127.0.0.1", port), Handler)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing about a browser that has gone away."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)

    @property
    def port(self) -> int:
        """The port that it listens at."""
        return int(self.server_address[1])

    @property
    def hosts(self) -> tuple[str, str]:
        """What a request may call this server."""
        return f"127.0.0.1:{self.port}", f"localhost:{self.port}"

    @property
    def url(self) -> str:
        """The address of the page."""
        return f"http://{self.hosts[0]}/"


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    server: Server
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "minigrad", ""
    timeout = SECONDS
    # One packet for headers and body: else Nagle's algorithm and delayed acknowledgements, each
    # waiting for the other, take 40 ms.
    wbufsize = 1 << 16
    disable_nagle_algorithm = True

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base's name
        """Say nothing: the terminal belongs to whoever started it."""

    def do_GET(self) -> None:
        """Send a file."""
        self._reply(self._file)

    def do_POST(self) -> None:
        """Answer a request about an expression."""
        self._reply(self._answer)

    def _reply(self, work: Any) -> None:
        try:
            if self.headers.get_all("Host", []) not in [[host] for host in self.server.hosts]:
                raise Refused(HTTPStatus.MISDIRECTED_REQUEST, "this is not the server's name")
            body, kind = work()
            self._send(HTTPStatus.OK, body, kind)
        except Refused as refused:
            self.close_connection = True  # what is left of the request is not read
            self._send(refused.status, f"{refused}\n".encode(), TYPES[".txt"])
        except (ConnectionError, TimeoutError):
            self.close_connection = True

    def _send(self, status: HTTPStatus, body: bytes, kind: str) -> None:
        self.send_response(status)
        told = {"Content-Type": kind, "Content-Length": str(len(body)), **HEADERS}
        for name, value in told.items():
            self.send_header(name, value)
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()

    def _file(self) -> tuple[bytes, str]:
        path = self.server.files.get(self.path.partition("?")[0])
        if path is None:
            raise Refused(HTTPStatus.NOT_FOUND, "there is no such file")
        return path.read_bytes(), TYPES.get(path.suffix, "application/octet-stream")

    def _answer(self) -> tuple[bytes, str]:
        if self.path != "/answer" or not self.server.token:
            raise Refused(HTTPStatus.NOT_FOUND, "there is nothing to post to")
        origins = [[f"http://{host}"] for host in self.server.hosts]
        if self.headers.get_all("Origin", []) not in origins:
            raise Refused(HTTPStatus.FORBIDDEN, "the Origin is not this server")
        given = self.headers.get(TOKEN, "").encode("utf-8", "replace")
        if not hmac.compare_digest(given, self.server.token.encode()):
            raise Refused(HTTPStatus.FORBIDDEN, f"{TOKEN} is missing or wrong")
        if self.headers.get("Content-Type") != "application/json":
            raise Refused(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "send application/json")
        request = self._read()
        if not isinstance(request, dict) or request.get("kind") not in SAFE:
            raise Refused(HTTPStatus.FORBIDDEN, f"only {', '.join(sorted(SAFE))} are answered here")
        return self._in_time(request), TYPES[".json"]

    def _read(self) -> Any:
        length = self.headers.get("Content-Length", "")
        if not (length.isascii() and length.isdigit()):
            raise Refused(HTTPStatus.LENGTH_REQUIRED, "say how long it is")
        if len(length) > 9 or int(length) > LARGEST:
            raise Refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"{LARGEST:,} bytes are read")
        try:
            return json.loads(self.rfile.read(int(length)))
        except (ValueError, RecursionError):
            raise Refused(HTTPStatus.BAD_REQUEST, "this is not JSON") from None

    def _in_time(self, request: dict[str, Any]) -> bytes:
        """Answer within the time that there is, in a thread that nobody waits for any longer."""
        found: list[bytes] = []

        def work() -> None:
            with self.server.turn:
                found.append(json.dumps(answer(request), allow_nan=False).encode())

        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        thread.join(SECONDS)
        if not found:
            raise Refused(HTTPStatus.SERVICE_UNAVAILABLE, "it took too long")
        return found[0]
