"""What the cases need beside the service: files and cargo to work with, a callback receiver, free upload sessions."""

import json
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

CLOSED_PORT = "http://127.0.0.1:9/closed"

MOST_SESSIONS = 8
"""A project may have 20 open upload sessions. With fewer, most create requests go through."""

REPEAT_SECONDS = 120


class Receiver(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


def start_receiver():
    """The base URL of a receiver that answers 200."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}"


class Api:
    def __init__(self, base, key):
        self.base, self.key = base, key

    def call(self, method, path, body=None):
        """Repeats what is answered with 503: a slow machine may not answer in time."""
        end = time.monotonic() + REPEAT_SECONDS
        status, answer = self.send(method, path, body)
        while status == 503 and time.monotonic() < end:
            time.sleep(1)
            status, answer = self.send(method, path, body)
        return status, answer

    def send(self, method, path, body):
        data = None if body is None else json.dumps(body).encode()
        headers = {"X-API-Key": self.key, "Content-Type": "application/json"}
        request = urllib.request.Request(self.base + path, data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as response:
                return response.status, json.load(response)
        except urllib.error.HTTPError as error:
            return error.code, json.load(error)

    def load(self, text, callback_url):
        messages = [{"role": "user", "content": text}]
        params = {"model": "svc-mock", "max_tokens": 64, "messages": messages}
        status, body = self.call("POST", "/cargo/load", {"params": params, "callback_url": callback_url})
        if status != 202:
            sys.exit(f"a load was answered with {status}: {body}")


def prepare(api, project):
    """Files in several states, a failed cargo, and callbacks that fail."""
    subprocess.run(
        ["python3", "tools/demo/files.py", api.base], input=f"{project} {api.key}\n", text=True, check=True,
        stdout=subprocess.DEVNULL,
    )
    for text in ("first", "second", "[mock:fail=storm]"):
        api.load(text, CLOSED_PORT)


class SessionCleaner(threading.Thread):
    """Aborts old upload sessions while the cases run."""

    def __init__(self, api):
        super().__init__(daemon=True)
        self.api = api
        self.stopped = threading.Event()
        self.broken = []

    def run(self):
        while not self.stopped.wait(0.3) and not self.broken:
            try:
                self.clean()
            except (OSError, ValueError) as error:
                self.broken.append(f"the session cleaner got no answer: {error}")

    def clean(self):
        status, page = self.api.call("GET", "/files?status=uploading&limit=200")
        self.judge("GET /files", status)
        # The newest are first.
        for file in page.get("files", [])[MOST_SESSIONS:]:
            status, _ = self.api.call("DELETE", f"/files/{file['id']}")
            self.judge("DELETE /files", status)

    def judge(self, what, status):
        if status >= 500:
            self.broken.append(f"{what} of the session cleaner was answered with {status}")

    def stop(self):
        self.stopped.set()
        self.join(timeout=60)
        return self.broken
