"""A receiver of callbacks for Flask: flask --app flask_receiver run.

It stores each callback once and answers. Your application processes the table later.
"""

import os
import sqlite3
from contextlib import closing

from flask import Flask, request

from longshore import callbacks

app = Flask(__name__)
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
def receive() -> tuple[str, int]:
    body = request.get_data()
    try:
        callback = callbacks.verify(body, dict(request.headers), SECRETS)
    except callbacks.InvalidSignature as error:
        return error.reason, 401
    store(callback.cargo_id, body)
    return "", 204
