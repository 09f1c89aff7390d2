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

MAX_SESSIONS = 8
"""A project may have 20 open upload sessions. With fewer, most create requests go through."""

REPEAT_SECONDS = 120

UNFINISHED = {"PENDING", "BATCHED", "PROCESSING"}

OPEN_SESSIONS = 4

FAILED_CALLBACKS = 12
"""Enough that their resend is still under way when its page is opened."""


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

    def load(self, text, **fields):
        messages = [{"role": "user", "content": text}]
        params = {"model": "svc-mock", "max_tokens": 64, "messages": messages}
        return self.accepted("/cargo/load", {"params": params} | fields)["cargo_id"]

    def accepted(self, path, body):
        status, answer = self.call("POST", path, body)
        if status not in (200, 201, 202):
            sys.exit(f"POST {path} was answered with {status}: {answer}")
        return answer


def prepare(api, project):
    """Files in several states, open sessions, a failed cargo, callbacks that fail, and a group."""
    upload_files(api, project)
    for text in ["[mock:fail=storm]", *map(str, range(FAILED_CALLBACKS))]:
        api.load(text, callback_url=CLOSED_PORT)
    api.load("in a group", group_id=api.accepted("/groups", {"name": "prepared"})["group_id"])
    for number in range(OPEN_SESSIONS):
        declared = {"filename": "open.png", "media_type": "image/png", "size_bytes": 67, "sha256": f"{number:064x}"}
        api.accepted("/files", declared)


def read_known_ids(api):
    """Ids for the cases, by the name of their parameter: each process of Schemathesis begins with these."""
    def read(path, name, id):
        return [item[id] for item in api.call("GET", path)[1][name]]

    return {
        "file_id": read("/files?status=ready&limit=8", "files", "id")
        + read("/files?status=expired&limit=8", "files", "id"),
        # DELETE gets none of these, but those that the cases create.
        "session_id": read("/files?status=uploading&limit=8", "files", "id")[::-1],
        "cargo_id": read("/cargo?status=callback_failed&limit=8", "cargo", "cargo_id")
        + read("/cargo?limit=24", "cargo", "cargo_id"),
        "group_id": read("/groups?limit=8", "groups", "group_id"),
    }


def upload_files(api, project):
    subprocess.run(
        ["python3", "tools/demo/files.py", api.base], input=f"{project} {api.key}\n", text=True, check=True,
        stdout=subprocess.DEVNULL,
    )


def prepare_pages(api, project):
    """What pages show buttons for: a file, an open group, a cargo that is not completed, and a callback of one that is.

    The cases before may have changed all others.
    """
    upload_files(api, project)
    cargo = api.load("completed", callback_url=CLOSED_PORT)
    wait_until(lambda: api.call("GET", f"/cargo/{cargo}/tracking?wait=1")[1]["status"] not in UNFINISHED)
    # Its whole batch waits as long.
    api.load("[mock:delay=3600s]", group_id=api.accepted("/groups", {})["group_id"])
    wait_until(lambda: api.call("GET", "/files?status=ready")[1]["files"])


def wait_until(is_true):
    end = time.monotonic() + REPEAT_SECONDS
    while not is_true():
        if time.monotonic() > end:
            sys.exit("what the pages need was not ready in time")
        time.sleep(0.2)


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
        for file in page.get("files", [])[MAX_SESSIONS:]:
            status, _ = self.api.call("DELETE", f"/files/{file['id']}")
            self.judge("DELETE /files", status)

    def judge(self, what, status):
        if status >= 500:
            self.broken.append(f"{what} of the session cleaner was answered with {status}")

    def stop(self):
        self.stopped.set()
        self.join(timeout=60)
        return self.broken
