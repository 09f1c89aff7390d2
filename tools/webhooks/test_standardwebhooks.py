"""Signed callbacks, verified with the Python library of Standard Webhooks."""

import json
import os
import subprocess
import time
from datetime import datetime, timezone
from pathlib import Path

import pytest
from standardwebhooks import Webhook, WebhookVerificationError

TOLERANCE_SECONDS = 5 * 60
# A test must not fail because a second passes while it runs.
MARGIN_SECONDS = 30
VECTORS = json.loads((Path(__file__).parent / "vectors.json").read_text())


def sign(age_seconds=0):
    """What Longshore signs, as if the attempt had begun so long ago."""
    seconds = int(time.time()) - age_seconds
    printed = subprocess.run(
        [os.environ["SIGNED_CALLBACKS"], str(seconds)], check=True, capture_output=True
    )
    return json.loads(printed.stdout)


def is_valid(secret, callback, body=None):
    body = callback["body"] if body is None else body
    try:
        Webhook(secret).verify(body.encode(), callback["headers"])
    except WebhookVerificationError:
        return False
    return True


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["id"])
def test_the_library_signs_as_the_vectors_say(vector):
    moment = datetime.fromtimestamp(int(vector["timestamp"]), tz=timezone.utc)
    signature = Webhook(vector["secret"]).sign(vector["id"], moment, vector["body"])
    assert signature == vector["signature"]


@pytest.mark.parametrize(
    ("moment", "old", "new"),
    [
        ("before_rotation", True, False),
        ("during_rotation", True, True),
        ("after_rotation", False, True),
    ],
)
def test_secrets_verify_while_they_sign(moment, old, new):
    signed = sign()
    assert is_valid(signed["old_secret"], signed[moment]) is old
    assert is_valid(signed["new_secret"], signed[moment]) is new


def test_the_id_is_the_cargo():
    callback = sign()["before_rotation"]
    assert callback["headers"]["webhook-id"] == json.loads(callback["body"])["cargo_id"]


@pytest.mark.parametrize("moment", ["before_rotation", "during_rotation"])
def test_a_changed_byte_is_found(moment):
    signed = sign()
    callback = signed[moment]
    for index in range(len(callback["body"])):
        body = callback["body"]
        changed = body[:index] + ("x" if body[index] != "x" else "y") + body[index + 1 :]
        assert not is_valid(signed["old_secret"], callback, changed), index
    for name in ("webhook-id", "webhook-timestamp"):
        changed = dict(callback["headers"])
        # The timestamp stays within the tolerance.
        changed[name] = changed[name][:-1] + ("1" if changed[name][-1] != "1" else "2")
        assert not is_valid(signed["old_secret"], {**callback, "headers": changed}), name


@pytest.mark.parametrize("direction", [1, -1])
def test_a_replay_after_the_tolerance_is_rejected(direction):
    late = sign(direction * (TOLERANCE_SECONDS + MARGIN_SECONDS))
    assert not is_valid(late["old_secret"], late["before_rotation"])
    in_time = sign(direction * (TOLERANCE_SECONDS - MARGIN_SECONDS))
    assert is_valid(in_time["old_secret"], in_time["before_rotation"])
