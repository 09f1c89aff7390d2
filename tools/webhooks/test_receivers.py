"""The FastAPI receiver of docs/receivers.md, as it is there, with what Longshore signs."""

import asyncio
import re
import sqlite3
import sys
import types
from pathlib import Path

import pytest

from test_standardwebhooks import MARGIN_SECONDS, TOLERANCE_SECONDS, sign

PAGE = (Path(__file__).parents[2] / "docs/receivers.md").read_text()


def block(language):
    [code] = re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    return code


@pytest.fixture
def receiver(tmp_path, monkeypatch):
    """The module of the page with an empty table."""
    database = str(tmp_path / "callbacks.db")
    sqlite3.connect(database).executescript(block("sql"))
    monkeypatch.setenv("CALLBACK_DATABASE", database)
    monkeypatch.setenv("CALLBACK_SECRET", sign()["old_secret"])
    module = types.ModuleType("receiver")
    # FastAPI looks up the types of arguments in the module.
    monkeypatch.setitem(sys.modules, "receiver", module)
    exec(compile(block("python"), "docs/receivers.md", "exec"), module.__dict__)
    module.rows = lambda: sqlite3.connect(database).execute("select cargo_id, body from callback").fetchall()
    return module


def post(app, callback, body=None):
    """The status that the application answers, without a server around it."""
    body = callback["body"] if body is None else body
    headers = [(name.encode(), value.encode()) for name, value in callback["headers"].items()]
    path = "/callbacks/longshore"
    scope = {"type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "POST", "scheme": "http",
             "path": path, "raw_path": path.encode(), "query_string": b"", "root_path": "", "headers": headers,
             "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 2)}
    statuses = []

    async def receive():
        return {"type": "http.request", "body": body.encode(), "more_body": False}

    async def send(message):
        if message["type"] == "http.response.start":
            statuses.append(message["status"])

    asyncio.run(app(scope, receive, send))
    [status] = statuses
    return status


@pytest.mark.parametrize("moment", ["before_rotation", "during_rotation"])
def test_a_callback_is_stored_once_however_often_it_arrives(receiver, moment):
    callback = sign()[moment]
    assert [post(receiver.app, callback) for _ in range(3)] == [204, 204, 204]
    assert receiver.rows() == [(callback["headers"]["webhook-id"], callback["body"])]


def test_a_forged_or_old_callback_is_not_stored(receiver):
    callback = sign()["before_rotation"]
    old = sign(TOLERANCE_SECONDS + MARGIN_SECONDS)["before_rotation"]
    assert post(receiver.app, callback, callback["body"].replace("7", "8")) == 401
    assert post(receiver.app, old) == 401
    assert post(receiver.app, sign()["after_rotation"]) == 401
    assert post(receiver.app, {**callback, "headers": {}}) == 401
    assert receiver.rows() == []
