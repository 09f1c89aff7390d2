"""The server's address and a key, from the environment of `./dev dropins`."""

import os
import time

import anthropic
import pytest

BASE_URL = os.environ["LONGSHORE_URL"].rstrip("/") + "/anthropic"
API_KEY = os.environ["LONGSHORE_API_KEY"]

DEADLINE_SECONDS = 120


@pytest.fixture
def client():
    return anthropic.Anthropic(base_url=BASE_URL, api_key=API_KEY)


def wait_until_ended(client, batch_id):
    """Polls as the documentation of Anthropic shows it."""
    until = time.monotonic() + DEADLINE_SECONDS
    while True:
        batch = client.messages.batches.retrieve(batch_id)
        if batch.processing_status == "ended":
            return batch
        counts = batch.request_counts
        total = counts.processing + counts.succeeded + counts.errored + counts.canceled + counts.expired
        assert total > 0
        assert time.monotonic() < until, batch
        time.sleep(0.5)
