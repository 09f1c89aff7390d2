"""The simulator's address, an account for each test, and helpers to set its faults and pace."""

import json
import os
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid

import pytest

BASE = os.environ["SIMULATOR_URL"].rstrip("/")


class Account:
    """One credential at one provider."""

    def __init__(self, provider):
        self.provider = provider
        self.key = f"sdk-{uuid.uuid4()}"

    def url(self, path=""):
        return f"{BASE}/{self.provider}{path}"

    def admin(self, method, what, body=None):
        account = urllib.parse.quote(self.key, safe="")
        url = f"{BASE}/admin/{self.provider}/{account}/{what}"
        data = None if body is None else json.dumps(body).encode()
        with urllib.request.urlopen(urllib.request.Request(url, data=data, method=method)) as answer:
            return json.load(answer)

    def call(self, method, path, body=None):
        """The status and the text of the answer, without a client that could change them."""
        headers = {"authorization": f"Bearer {self.key}", "x-api-key": self.key, "x-goog-api-key": self.key}
        headers |= {"content-type": "application/json", "anthropic-version": "2023-06-01"}
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url(path), data=data, method=method, headers=headers)
        try:
            with urllib.request.urlopen(request) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as refusal:
            return refusal.code, refusal.read().decode()

    def faults(self, *faults):
        self.admin("PUT", "faults", list(faults))

    def pace(self, **pace):
        self.admin("PUT", "pace", pace)


@pytest.fixture
def openai_account():
    return Account("openai")


@pytest.fixture
def anthropic_account():
    return Account("anthropic")


@pytest.fixture
def gemini_account():
    return Account("gemini")


@pytest.fixture
def server_account():
    return Account("server")


def poll(look, is_over):
    """Polls until the job ends; at the default pace it takes less than a second."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        seen = look()
        if is_over(seen):
            return seen
        time.sleep(0.05)
    raise AssertionError(f"did not end in time: {seen}")


def expected(text):
    """The answer rule."""
    import hashlib

    return f"sim:{hashlib.sha256(text.encode()).hexdigest()[:16]} {text[:200]}"
