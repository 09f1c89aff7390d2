"""The service under test, its callers, and a receiver of callbacks in this process."""

import hashlib
import json
import os
import threading
import time
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import NamedTuple

import httpx
import pytest

PATIENCE = 120
"""Seconds for a batch of the simulator, when all tests want one at the same time."""

KINDS = ["chat", "responses", "claude", "gemini", "server"]
"""A model of each kind of API, with everything that the kind has."""

MARKING_KINDS = ["chat", "responses", "claude"]
"""The kinds that send cache marks to the provider."""

THINKING_KINDS = ["responses", "claude", "gemini", "server"]
"""The kinds whose answers contain thoughts."""

ENDED = {"COMPLETED", "callback_delivered", "callback_failed"}

TRACKED_FIELDS = {
    "cargo_id",
    "status",
    "model",
    "kind",
    "attempt",
    "created_at",
    "batched_at",
    "processing_at",
    "completed_at",
    "deadline_at",
    "success",
    "response",
    "error",
    "error_code",
    "usage",
    "cost",
    "callback",
    "waiting",
    "metadata",
    "erased_at",
}
"""Of the record of a plain load."""


class Fault(NamedTuple):
    """One thing that a refused load has wrong."""

    place: str
    message: str
    capability: str | None


class Caller:
    """Loads with one key."""

    def __init__(self, client):
        self.client = client

    def post(self, params, **body):
        while True:
            answer = self.client.post("/cargo/load", json={"params": params, **body})
            if answer.status_code != 429:
                return answer
            time.sleep(float(answer.headers.get("Retry-After", "1")))

    def load(self, params, **body):
        """The acknowledgement of an accepted load."""
        answer = self.post(params, **body)
        assert answer.status_code == 202, answer.text
        return answer.json()

    def track(self, cargo_id):
        answer = self.client.get(f"/cargo/{cargo_id}/tracking")
        assert answer.status_code == 200, answer.text
        return answer.json()

    def wait(self, cargo_id, statuses=frozenset(ENDED)):
        """The record, once it has one of the statuses."""
        deadline = time.monotonic() + PATIENCE
        while True:
            record = self.track(cargo_id)
            if record["status"] in statuses:
                return record
            assert time.monotonic() < deadline, f"still {record['status']} after {PATIENCE} s: {record}"
            time.sleep(0.2)

    def record(self, params, **body):
        """Loads, and returns the record of the completed cargo."""
        return self.wait(self.load(params, **body)["cargo_id"])

    def answer(self, params, **body):
        """Loads, and returns the response of the model."""
        record = self.record(params, **body)
        assert record["success"] is True, record
        return record["response"]

    def faults(self, params, **body):
        """What a refused load has wrong."""
        return read_faults(self.post(params, **body))

    def places(self, params, **body):
        """Where a refused load is wrong."""
        return [fault.place for fault in self.faults(params, **body)]

    def warnings(self, params, **body):
        """The warnings of an accepted load, as pairs of field and code."""
        warnings = self.load(params, **body).get("warnings", [])
        return [(warning["field"], warning["code"]) for warning in warnings]


def read_faults(answer):
    assert answer.status_code == 422, answer.text
    detail = answer.json()["detail"]
    if isinstance(detail, list):
        assert detail
        return [Fault(place_of(fault["loc"]), fault["msg"], None) for fault in detail]
    assert detail["error"] == "model_capability_missing", detail
    found = detail.get("errors", [detail])
    return [Fault(place_of(fault["loc"]), fault["message"], fault["capability"]) for fault in found]


def place_of(location):
    """A location below the body, such as `params.tools.0.name`."""
    assert location[0] == "body", location
    return ".".join(map(str, location[1:]))


@pytest.fixture(scope="session")
def environment():
    path = os.environ.get("SVC_FIXTURES")
    if not path:
        pytest.exit("SVC_FIXTURES must name the fixtures file, see README.md", returncode=2)
    return json.loads(Path(path).read_text())


@pytest.fixture(scope="session")
def caller_with(environment):
    clients = []

    def make(name):
        headers = {"X-API-Key": environment["keys"][name]}
        client = httpx.Client(base_url=environment["base_url"], headers=headers, timeout=30)
        clients.append(client)
        return Caller(client)

    yield make
    for client in clients:
        client.close()


@pytest.fixture(scope="session")
def pro(caller_with):
    return caller_with("pro")


@pytest.fixture(scope="session")
def other(caller_with):
    """Another organization, on the other shard."""
    return caller_with("pro_other")


# --- requests ---


def unique(words="Where is the crate?"):
    return f"{words} {uuid.uuid4().hex}"


def chat(model, content=None, **params):
    """The params of a chat; None leaves a field out."""
    message = {"role": "user", "content": unique() if content is None else content}
    every = {"model": model, "max_tokens": 256, "messages": [message], **params}
    return {name: value for name, value in every.items() if value is not None}


def text(words, **fields):
    return {"type": "text", "text": words, **fields}


def user(content):
    return {"role": "user", "content": content}


def assistant(content):
    return {"role": "assistant", "content": content}


def call(call_id="call_1", name="find_crate", arguments=None):
    return {"type": "tool_use", "id": call_id, "name": name, "input": arguments or {"crate": 7}}


def result(call_id="call_1", content="at pier 4", **fields):
    return {"type": "tool_result", "tool_use_id": call_id, "content": content, **fields}


def schema(**properties):
    """A schema that every provider takes strictly."""
    properties = properties or {"crate": {"type": "integer"}}
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def tool(name="find_crate", **fields):
    return {"name": name, "description": "Says where a crate is.", "input_schema": schema(), **fields}


def json_format(wanted=None, **fields):
    return {"format": {"type": "json_schema", "schema": wanted or schema(), **fields}}


def expected_text(question):
    """What the simulator answers to a question."""
    return f"sim:{hashlib.sha256(question.encode()).hexdigest()[:16]} {question[:200]}"


# --- answers ---


def blocks(response, kind):
    return [block for block in response["content"] if block["type"] == kind]


def only_text(response):
    [block] = blocks(response, "text")
    return block["text"]


def input_details(response):
    return response["usage"].get("input_tokens_details", {})


# --- callbacks ---


class Receiver:
    """Acknowledges every callback, and keeps its body and its headers."""

    def __init__(self):
        self.bodies = []
        self.headers = []
        self._arrived = threading.Condition()
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                with receiver._arrived:
                    receiver.headers.append({name.lower(): value for name, value in self.headers.items()})
                    receiver.bodies.append(json.loads(body))
                    receiver._arrived.notify_all()
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self._server.server_port}/callback"

    def wait_for(self, count):
        with self._arrived:
            arrived = self._arrived.wait_for(lambda: len(self.bodies) >= count, PATIENCE)
            assert arrived, f"{len(self.bodies)} of {count} callbacks"
            return list(self.bodies)

    def close(self):
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def receiver():
    made = Receiver()
    yield made
    made.close()
