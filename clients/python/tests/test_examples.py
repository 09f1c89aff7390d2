"""The receivers of examples/, with what Longshore signs."""

import asyncio
import importlib
import json
import sqlite3
import time
from pathlib import Path

import httpx2
import pytest

from longshore import callbacks

SECRET = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
BODY = b'{"cargo_id":"crg_1","success":false,"response":null,"error":"cancelled","error_code":"cancelled"}'


@pytest.fixture(params=["fastapi_receiver", "flask_receiver"])
def post(request, monkeypatch, tmp_path):
    monkeypatch.setenv("LONGSHORE_SIGNING_SECRETS", f"{SECRET} whsec_{'B' * 32}")
    monkeypatch.setenv("CALLBACK_DATABASE", str(tmp_path / "callbacks.db"))
    monkeypatch.syspath_prepend(Path(__file__).parents[1] / "examples")
    module = importlib.reload(importlib.import_module(request.param))

    async def send(body, headers):
        transport = httpx2.ASGITransport(module.app)
        async with httpx2.AsyncClient(transport=transport, base_url="http://receiver") as client:
            return (await client.post("/callbacks/longshore", content=body, headers=headers)).status_code

    def send_flask(body, headers):
        return module.app.test_client().post("/callbacks/longshore", data=body, headers=headers).status_code

    is_flask = request.param == "flask_receiver"
    return lambda body, headers: send_flask(body, headers) if is_flask else asyncio.run(send(body, headers))


def test_a_callback_is_stored_once_and_only_if_it_is_signed(post, tmp_path):
    signed = callbacks.sign(BODY, SECRET, message_id="crg_1", timestamp=int(time.time()))
    assert [post(BODY, signed), post(BODY, signed)] == [204, 204]
    assert post(BODY + b" ", signed) == 401
    assert post(BODY, {}) == 401
    rows = sqlite3.connect(tmp_path / "callbacks.db").execute("select cargo_id, body from callback").fetchall()
    assert rows == [("crg_1", BODY.decode())]
    assert json.loads(rows[0][1])["error_code"] == "cancelled"
