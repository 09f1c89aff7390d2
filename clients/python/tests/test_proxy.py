"""The cutting proxy loses answers, and each load is still stored once."""

import json
import socket
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from generate.paths import CLIENTS

from longshore import Longshore, errors, user

LOADS = 40


class LoadServer:
    """Stores loads by their idempotency key."""

    def __init__(self):
        self.stored = {}
        self.requests = 0
        self.has_differing_bodies = False
        outer, lock = self, threading.Lock()

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["content-length"]))
                with lock:
                    outer.requests += 1
                    cargo_id, first = outer.stored.setdefault(
                        self.headers["idempotency-key"], (f"crg_{len(outer.stored)}", body)
                    )
                    outer.has_differing_bodies |= first != body
                answer = json.dumps({"cargo_id": cargo_id, "status": "success", "message": ""}).encode()
                self.send_response(202)
                self.send_header("content-length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        # The proxy closes some connections before the answer is written.
        self.server.handle_error = lambda *_: None
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


@pytest.fixture
def server():
    made = LoadServer()
    yield made
    made.server.shutdown()


@pytest.fixture
def proxy_url(server):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, CLIENTS / "scenarios/cutting_proxy.py", str(port), str(server.server.server_port), "0.4"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert "listening" in process.stdout.readline()
    yield f"http://127.0.0.1:{port}"
    process.terminate()
    process.wait()


def test_each_load_is_stored_once(server, proxy_url):
    with Longshore("svc_sk_x", proxy_url) as client:
        params = {"model": "svc-mock", "max_tokens": 8, "messages": [user("hello")]}
        loaded = {client.cargo.load(params).cargo_id for _ in range(LOADS)}
    assert len(loaded) == len(server.stored) == LOADS
    assert server.requests > LOADS and not server.has_differing_bodies


def test_a_lost_answer_may_have_been_accepted(server, proxy_url):
    with Longshore("svc_sk_x", proxy_url, retry_for=0) as client:
        params = {"model": "svc-mock", "max_tokens": 8, "messages": [user("hello")]}
        lost = 0
        for _ in range(LOADS):
            try:
                client.cargo.load(params)
            except errors.NotConnected as error:
                assert error.maybe_accepted
                lost += 1
    assert 0 < lost < LOADS
