"""Verifies the signatures of callbacks, as Standard Webhooks defines them. It imports no HTTP client."""

import base64
import binascii
import hashlib
import hmac
import time
from collections.abc import Mapping, Sequence

from longshore._error_base import InvalidSignature
from longshore.types.cargo import ResultCallback

DEFAULT_TOLERANCE_SECONDS = 300
# Enough for any time. Python refuses to read numbers of thousands of digits with another error.
MAX_TIMESTAMP_DIGITS = 15
SECRET_PREFIX = "whsec_"
PUBLIC_KEY_PREFIX = "whpk_"

__all__ = ["InvalidSignature", "ResultCallback", "sign", "verify", "verify_signature"]


def verify(
    body: bytes,
    headers: Mapping[str, str],
    secrets: str | Sequence[str],
    *,
    tolerance: float = DEFAULT_TOLERANCE_SECONDS,
    now: float | None = None,
) -> ResultCallback:
    """The callback of a cargo, if it is signed with any of the secrets. Pass the body as it arrived.

    A secret is `whsec_…`, or the public key `whpk_…`, which needs the extra `ed25519`.
    """
    verify_signature(body, headers, secrets, tolerance=tolerance, now=now)
    return ResultCallback.model_validate_json(body)


def verify_signature(
    body: bytes,
    headers: Mapping[str, str],
    secrets: str | Sequence[str],
    *,
    tolerance: float = DEFAULT_TOLERANCE_SECONDS,
    now: float | None = None,
) -> None:
    """Raises `InvalidSignature` unless it is signed, whatever the body is: use it for callbacks of groups."""
    named = {name.lower(): value for name, value in headers.items()}
    try:
        message_id, stamp = named["webhook-id"], named["webhook-timestamp"]
        signatures = named["webhook-signature"].split()
    except KeyError as missing:
        raise InvalidSignature(f"the header {missing} is missing") from None
    if not stamp.isascii() or not stamp.isdigit() or len(stamp) > MAX_TIMESTAMP_DIGITS:
        raise InvalidSignature("webhook-timestamp is not a number")
    if abs((time.time() if now is None else now) - int(stamp)) > tolerance:
        raise InvalidSignature("webhook-timestamp is too far from the current time")
    content = signed_content(message_id, stamp, body)
    known = [secrets] if isinstance(secrets, str) else secrets
    if not any(is_signed(content, signatures, secret) for secret in known):
        raise InvalidSignature("no signature matches any of the secrets")


def sign(body: bytes, secret: str, *, message_id: str, timestamp: int) -> dict[str, str]:
    """The headers of a signed callback, for tests of a receiver."""
    content = signed_content(message_id, str(timestamp), body)
    signature = base64.b64encode(hmac_of(content, secret)).decode()
    return {
        "webhook-id": message_id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": f"v1,{signature}",
    }


def signed_content(message_id: str, stamp: str, body: bytes) -> bytes:
    return f"{message_id}.{stamp}.".encode() + body


def hmac_of(content: bytes, secret: str) -> bytes:
    return hmac.new(decode(secret.removeprefix(SECRET_PREFIX)), content, hashlib.sha256).digest()


def is_signed(content: bytes, signatures: Sequence[str], secret: str) -> bool:
    is_public_key = secret.startswith(PUBLIC_KEY_PREFIX)
    for signature in signatures:
        version, _, text = signature.partition(",")
        if is_public_key and version == "v1a" and is_signed_ed25519(content, text, secret):
            return True
        # Compared as text, so that only the canonical base64 passes.
        if not is_public_key and version == "v1":
            expected = base64.b64encode(hmac_of(content, secret))
            if hmac.compare_digest(expected, text.encode()):
                return True
    return False


def is_signed_ed25519(content: bytes, signature: str, public_key: str) -> bool:
    try:
        from cryptography.exceptions import InvalidSignature as WrongSignature
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    except ImportError as error:
        raise RuntimeError("keys that begin with whpk_ need: pip install longshore[ed25519]") from error
    key = Ed25519PublicKey.from_public_bytes(decode(public_key.removeprefix(PUBLIC_KEY_PREFIX)))
    try:
        key.verify(base64.b64decode(signature, validate=True), content)
    except (WrongSignature, binascii.Error):
        return False
    return True


def decode(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error:
        raise ValueError("a secret is whsec_ or whpk_ and base64") from None
