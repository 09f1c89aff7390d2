"""The server's address and a key, from the environment of `./dev dropins`, and helpers for batches."""

import json
import os
import time

import openai
import pytest

BASE_URL = os.environ["LONGSHORE_URL"].rstrip("/") + "/openai/v1"
API_KEY = os.environ["LONGSHORE_API_KEY"]

DEADLINE_SECONDS = 120
ENDED = {"completed", "failed", "expired", "cancelled"}


@pytest.fixture
def client():
    return openai.OpenAI(base_url=BASE_URL, api_key=API_KEY)


def line(custom_id, body, url="/v1/chat/completions"):
    return {"custom_id": custom_id, "method": "POST", "url": url, "body": body}


def chat(custom_id, text, **more):
    body = {"model": "svc-mock", "max_tokens": 64, "messages": [{"role": "user", "content": text}], **more}
    return line(custom_id, body)


def as_file(lines):
    return ("batch.jsonl", "\n".join(json.dumps(item) for item in lines).encode())


def create(client, lines, endpoint="/v1/chat/completions", **more):
    file = client.files.create(file=as_file(lines), purpose="batch")
    return client.batches.create(input_file_id=file.id, endpoint=endpoint, completion_window="24h", **more)


def wait_until_ended(client, batch_id):
    until = time.monotonic() + DEADLINE_SECONDS
    while True:
        batch = client.batches.retrieve(batch_id)
        if batch.status in ENDED:
            return batch
        assert time.monotonic() < until, batch
        time.sleep(0.5)


def read_lines(client, file_id):
    return [json.loads(text) for text in client.files.content(file_id).text.splitlines()]
