"""The local server of the playground: files of its folder, expressions by token, refusals."""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
import sys
import threading

import pytest
from typer.testing import CliRunner

from minigrad.cli import app
from minigrad.cli import playground as command
from minigrad.playground import server as module
from minigrad.playground.server import TOKEN, Server

REQUEST = {"kind": "expression", "text": "a*b", "values": {"a": 2, "b": 3}}


@pytest.fixture
def folder(tmp_path):
    site = tmp_path / "site"
    (site / "pyodide").mkdir(parents=True)
    (site / "index.html").write_text("<!doctype html>page")
    (site / "app.js").write_text("1")
    (site / "pyodide" / "a.wasm").write_bytes(b"\0asm")
    (tmp_path / "secret.txt").write_text("secret")
    return site


@pytest.fixture
def server(folder):
    with Server(folder, answers=True) as running:
        threading.Thread(target=running.serve_forever, args=(0.02,), daemon=True).start()
        yield running
        running.shutdown()


def ask(server, method="GET", path="/", body=None, host=None, **headers):
    """Ask, with all headers as they should be unless they are given; None leaves one out."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
    connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
    told = {"Host": host or server.hosts[0]}
    if method == "POST":
        told |= {
            "Origin": f"http://{server.hosts[0]}",
            TOKEN: server.token,
            "Content-Type": "application/json",
            "Content-Length": str(len(body or b"")),
        }
    told |= {name.replace("_", "-"): value for name, value in headers.items()}
    for name, value in told.items():
        if value is not None:
            connection.putheader(name, value)
    connection.endheaders(body)
    with contextlib.closing(connection), connection.getresponse() as response:
        return response.status, response.read(), dict(response.getheaders())


def post(server, request=None, **headers):
    body = json.dumps(REQUEST if request is None else request).encode()
    return ask(server, "POST", "/answer", body, **headers)


def test_files_and_their_types(server):
    for path, kind in {
        "/": "text/html; charset=utf-8",
        "/app.js": "text/javascript; charset=utf-8",
        "/app.js?again": "text/javascript; charset=utf-8",
        "/pyodide/a.wasm": "application/wasm",
    }.items():
        status, _, headers = ask(server, path=path)
        assert (status, headers["Content-Type"]) == (200, kind)
        assert headers["X-Content-Type-Options"] == "nosniff"
        policy = headers["Content-Security-Policy"]
        assert "unsafe-inline" not in policy
        assert "'unsafe-eval'" not in policy
        assert "frame-ancestors 'self'" in policy


@pytest.mark.parametrize(
    "path",
    ["/nothing", "/../secret.txt", "/%2e%2e/secret.txt", "/pyodide", "/pyodide/", "/answer",
     "http://127.0.0.1/app.js", "/app.js/", "/pyodide/../../secret.txt"],
)  # fmt: skip
def test_only_files_of_the_folder(server, path):
    status, body, _ = ask(server, path=path)
    assert status == 404
    assert b"secret" not in body


def test_it_listens_on_this_machine_alone(server):
    assert server.server_address[0] == "127.0.0.1"


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1", "localhost:1", "127.0.0.1:80", "[::1]"]
)
def test_another_host_is_refused(server, host):
    assert ask(server, host=host)[0] == 421
    assert post(server, host=host)[0] == 421


def test_two_hosts_are_refused(server):
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as connection:
        host = server.hosts[0]
        connection.sendall(f"GET / HTTP/1.1\r\nHost: {host}\r\nHost: {host}\r\n\r\n".encode())
        assert b" 421 " in connection.recv(100)


def test_localhost_is_a_name_of_it(server):
    assert ask(server, host=server.hosts[1])[0] == 200
    assert post(server, host=server.hosts[1], Origin=f"http://{server.hosts[1]}")[0] == 200


def test_an_expression_is_answered(server):
    status, body, _ = post(server)
    assert status == 200
    found = json.loads(body)
    assert [row["grad"] for row in found["rows"]] == [3.0, 2.0]
    status, body, _ = post(server, {"kind": "check", "text": "a +"})
    assert "error" in json.loads(body)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Origin": None}, 403),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({TOKEN: None}, 403),
        ({TOKEN: "guess"}, 403),
        ({TOKEN: ""}, 403),
        ({"Content-Type": "text/plain"}, 415),
        ({"Content-Type": "application/json; charset=utf-8"}, 415),
        ({"Content-Type": None}, 415),
        ({"Content-Length": None}, 411),
        ({"Content-Length": "-1"}, 411),
        ({"Content-Length": "²"}, 411),
        ({"Content-Length": "100001"}, 413),
        ({"Content-Length": "9" * 40}, 413),
    ],
)
def test_refusals(server, headers, status):
    headers = {k: v if v is None else v.encode("utf-8") for k, v in headers.items()}
    assert post(server, **headers)[0] == status


@pytest.mark.parametrize(
    "request_",
    [{"kind": kind} for kind in ("python", "doctor", "lab-check", "train", "eval")]
    + [{}, [], None, "a"],
)
def test_nothing_but_expressions_is_answered(server, request_):
    assert ask(server, "POST", "/answer", json.dumps(request_).encode())[0] == 403


def test_what_is_no_json_is_refused(server):
    assert ask(server, "POST", "/answer", b"{")[0] == 400
    assert ask(server, "POST", "/answer", b"[" * 50_000)[0] == 400


def test_posts_elsewhere_and_other_methods(server):
    assert ask(server, "POST", "/", b"{}")[0] == 404
    assert ask(server, "PUT", "/app.js", b"1", Content_Length="1")[0] == 501
    assert ask(server, "DELETE", "/app.js")[0] == 501
    assert ask(server, "OPTIONS", "/answer")[0] == 501  # no other site may ask


def test_what_takes_too_long_is_given_up(server, monkeypatch):
    released = threading.Event()
    monkeypatch.setattr(module, "SECONDS", 0.05)
    monkeypatch.setattr(module, "answer", lambda request: released.wait(30) and {})
    assert post(server)[0] == 503
    released.set()


def test_a_request_that_never_comes_is_given_up(server, monkeypatch):
    monkeypatch.setattr(module.Handler, "timeout", 0.2)
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as connection:
        connection.sendall(b"POST /answer HTTP/1.1\r\n")
        assert connection.recv(100) == b""  # closed


def test_without_answers_there_is_no_token_and_nothing_to_post_to(folder):
    with Server(folder) as running:
        threading.Thread(target=running.serve_forever, args=(0.02,), daemon=True).start()
        assert running.token == ""
        assert post(running, **{TOKEN: ""})[0] == 404
        running.shutdown()


# ---- the command -------------------------------------------------------------------------------


class Files:
    """A stand-in for the distribution that holds the page."""

    def __init__(self, folder):
        self.folder, self.single = lambda: folder, lambda: "<!doctype html>all"


@pytest.fixture
def installed(monkeypatch, folder):
    monkeypatch.setitem(sys.modules, "minigrad_playground", Files(folder))


def test_the_command_serves_and_opens_a_browser(installed, monkeypatch):
    opened = []
    monkeypatch.setattr(command.webbrowser, "open", opened.append)

    def serve(self):
        raise KeyboardInterrupt  # at once: what it serves is seen above

    monkeypatch.setattr(Server, "serve_forever", serve)
    done = CliRunner().invoke(app, ["play"])
    assert done.exit_code == 0, done.output
    (url,) = opened
    assert url.startswith("http://127.0.0.1:")
    assert url in done.output
    done = CliRunner().invoke(app, ["play", "--no-browser", "--answers"])
    assert len(opened) == 1
    assert f"with {TOKEN}: " in done.output


def test_a_port_that_is_taken_is_told(installed, server):
    done = CliRunner().invoke(app, ["play", "--no-browser", "--port", str(server.port)])
    assert done.exit_code == 2
    assert "leave it out" in done.stderr


def test_export_writes_one_page(installed, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert CliRunner().invoke(app, ["play", "--export", "all.html"]).exit_code == 0
    assert (tmp_path / "all.html").read_text() == "<!doctype html>all"
    again = CliRunner().invoke(app, ["play", "--export", "all.html"])
    assert again.exit_code == 2
    assert "--force" in again.stderr
    assert "ends in .html" in CliRunner().invoke(app, ["play", "--export", "all.txt"]).stderr
    done = CliRunner().invoke(app, ["play", "a*b", "a=2", "b=3", "--export", "other.html"])
    assert "asks for no expression" in done.stderr


def test_what_is_not_installed_is_told(monkeypatch):
    monkeypatch.setitem(sys.modules, "minigrad_playground", None)
    done = CliRunner().invoke(app, ["play"])
    assert done.exit_code == 2
    assert "minigrad-engine[playground]" in done.stderr
