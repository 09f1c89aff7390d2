"""Signatures of callbacks, with the golden vectors."""

import json

import pytest
from generate.paths import CLIENTS
from standardwebhooks import Webhook

from longshore import callbacks
from longshore.callbacks import InvalidSignature

VECTORS = json.loads((CLIENTS.parent / "tools/webhooks/vectors.json").read_text())
CARGO = VECTORS[1]
BODY = CARGO["body"].encode()
NOW = int(CARGO["timestamp"])
PUBLIC_KEY = "whpk_A6EHv/POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg="
ED25519 = "v1a,sK5Ms5pZMU3X8aBklPNcVIhW8vkEj3R3I1Gg5fdwnLzEJa8rzZ3w/BxMZd/4Q3ScCHUe14KEpcSh45SQuSyvBA=="
OTHER = "whsec_" + "AAAA" * 8


def headers(signature=CARGO["signature"]):
    return {"Webhook-Id": CARGO["id"], "Webhook-Timestamp": CARGO["timestamp"], "Webhook-Signature": signature}


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["id"])
def test_a_signature_is_that_of_the_vector(vector):
    signed = callbacks.sign(
        vector["body"].encode(), vector["secret"], message_id=vector["id"], timestamp=int(vector["timestamp"])
    )
    assert signed["webhook-signature"] == vector["signature"]


@pytest.mark.parametrize(
    ("signature", "secrets"),
    [
        (CARGO["signature"], CARGO["secret"]),
        (CARGO["signature"], [OTHER, CARGO["secret"]]),
        (f"v1,{'A' * 43}= v9,x {CARGO['signature']}", CARGO["secret"]),
        (f"{CARGO['signature']} {ED25519}", PUBLIC_KEY),
    ],
)
def test_any_secret_and_any_signature_is_enough(signature, secrets):
    callback = callbacks.verify(BODY, headers(signature), secrets, now=NOW)
    assert (callback.cargo_id, callback.success, callback.error) == (CARGO["id"], False, "cancelled")


@pytest.mark.parametrize(
    ("body", "named", "secrets", "now", "reason"),
    [
        (BODY, {}, CARGO["secret"], NOW, "missing"),
        (BODY, headers() | {"Webhook-Timestamp": "soon"}, CARGO["secret"], NOW, "not a number"),
        (BODY, headers() | {"Webhook-Timestamp": "9" * 5000}, CARGO["secret"], NOW, "not a number"),
        (BODY, headers(), CARGO["secret"], NOW + 301, "too far"),
        (BODY, headers(), CARGO["secret"], NOW - 301, "too far"),
        (BODY, headers(), OTHER, NOW, "no signature"),
        (BODY, headers(), [], NOW, "no signature"),
        (BODY + b" ", headers(), CARGO["secret"], NOW, "no signature"),
        (BODY, headers(f"v1a,{CARGO['signature'][3:]}"), CARGO["secret"], NOW, "no signature"),
        (BODY + b" ", headers(ED25519), PUBLIC_KEY, NOW, "no signature"),
        (BODY, headers("v1a,???"), PUBLIC_KEY, NOW, "no signature"),
    ],
)
def test_everything_else_is_refused(body, named, secrets, now, reason):
    with pytest.raises(InvalidSignature, match=reason):
        callbacks.verify(body, named, secrets, now=now)


def test_the_callback_of_a_group_is_verified_whatever_its_body_is():
    body = b'{"type":"group.completed","group_id":"grp_1"}'
    signed = callbacks.sign(body, CARGO["secret"], message_id="grp_1", timestamp=NOW)
    callbacks.verify_signature(body, signed, CARGO["secret"], now=NOW)
    with pytest.raises(InvalidSignature):
        callbacks.verify_signature(body + b" ", signed, CARGO["secret"], now=NOW)


def test_the_library_of_standard_webhooks_accepts_what_we_sign(monkeypatch):
    import time

    signed = callbacks.sign(BODY, CARGO["secret"], message_id=CARGO["id"], timestamp=int(time.time()))
    assert Webhook(CARGO["secret"]).verify(BODY, signed)["cargo_id"] == CARGO["id"]
