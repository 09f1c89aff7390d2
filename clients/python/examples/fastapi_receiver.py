"""A receiver of callbacks for FastAPI: uvicorn fastapi_receiver:app.

It stores each callback once and answers. Your application processes the table later.
"""

import os
import sqlite3
from contextlib import closing

from fastapi import FastAPI, Request, Response
from fastapi.concurrency import run_in_threadpool

from longshore import callbacks

app = FastAPI()
SECRETS = os.environ["LONGSHORE_SIGNING_SECRETS"].split()
DATABASE = os.environ.get("CALLBACK_DATABASE", "callbacks.db")
TABLE = "create table if not exists callback (cargo_id text primary key, body text not null)"


def store(cargo_id: str, body: bytes) -> None:
    with closing(sqlite3.connect(DATABASE)) as database, database:
        database.execute(TABLE)
        # A callback can arrive more than once, always with the same bytes.
        statement = "insert into callback (cargo_id, body) values (?, ?) on conflict do nothing"
        database.execute(statement, (cargo_id, body.decode()))


@app.post("/callbacks/longshore")
async def receive(request: Request) -> Response:
    body = await request.body()
    try:
        callback = callbacks.verify(body, dict(request.headers), SECRETS)
    except callbacks.InvalidSignature as error:
        return Response(error.reason, status_code=401)
    await run_in_threadpool(store, callback.cargo_id, body)
    return Response(status_code=204)
