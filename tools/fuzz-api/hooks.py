"""Hooks of Schemathesis. They count the answers, use models and ids that exist, and rewrite what no route could get.

README.md says why. Requests change only by their own content, so that a seed repeats them.
"""

import atexit
import json
import os
import re
import threading
import zlib
from collections import Counter, deque
from urllib.parse import urlsplit

import schemathesis

CALLBACKS = os.environ["LONGSHORE_FUZZ_CALLBACKS"]
"""The base URL of a receiver on this machine."""

COUNTS = os.environ["LONGSHORE_FUZZ_COUNTS"]
"""The file for the number of answers by operation and status."""

CHAT_MODELS = ["svc-mock", "svc-mock", "svc-mock", "mock-chat", "mock-vision", "mock-failing"]
EMBEDDING_MODELS = ["mock-embedding"]

LOADS = {"POST /cargo/load", "POST /cargo/bulk", "POST /cargo/estimate"}

ID = re.compile(r"(file|crg)_[0-9a-f]{32}")
HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")

answers = Counter()
known_ids = {"file_id": deque(maxlen=64), "cargo_id": deque(maxlen=64)}
lock = threading.Lock()


def digest(text):
    return zlib.crc32(text.encode("utf-8", "surrogatepass"))


def choose(values, text):
    return values[digest(text) % len(values)]


@schemathesis.serializer("application/x-ndjson")
def write_line(ctx, value):
    return value if isinstance(value, bytes) else json.dumps(value).encode() + b"\n"


@schemathesis.hook
def before_call(ctx, case, kwargs):
    use_known_ids(case)
    clean_headers(case)
    if case.operation.label in LOADS and isinstance(case.body, dict):
        case.body = use_local_load(case.body)


def use_local_load(body):
    """A load, or loads in `cargo`."""
    body = use_local_callback(use_known_model(body))
    if isinstance(body.get("cargo"), list):
        items = [use_local_load(item) if isinstance(item, dict) else item for item in body["cargo"]]
        body = {**body, "cargo": items}
    return body


@schemathesis.hook
def after_call(ctx, case, response):
    with lock:
        answers[case.operation.label, response.status_code] += 1
        if 200 <= response.status_code < 300:
            remember_ids(case.operation.label, response)


def remember_ids(label, response):
    """Other fields than these are for the checks to find."""
    if label == "GET /files":
        known_ids["file_id"].extend(file["id"] for file in response.json().get("files", [])[:8])
    elif label in ("POST /files", "POST /cargo/load"):
        body = response.json()
        for field, name in (("id", "file_id"), ("cargo_id", "cargo_id")):
            if field in body:
                known_ids[name].append(body[field])


def use_known_ids(case):
    """Most ids that were made up become ids that exist."""
    changed = dict(case.path_parameters or {})
    for name, value in changed.items():
        text = str(value)
        with lock:
            known = list(known_ids.get(name, ()))
        if text.upper().replace("%2E", ".") in {".", ".."}:
            changed[name] = "dots"
        elif ID.fullmatch(text) and text not in known and known and digest(text) % 4:
            changed[name] = choose(known, text)
    if changed != (case.path_parameters or {}):
        case.path_parameters = changed


def use_known_model(body):
    params = body.get("params")
    model = params.get("model") if isinstance(params, dict) else None
    if not isinstance(model, str) or digest(model) % 4 == 0:
        return body
    models = EMBEDDING_MODELS if "input_text" in params else CHAT_MODELS
    return body | {"params": params | {"model": choose(models, model)}}


def use_local_callback(body):
    """No callback leaves this machine."""
    url = body.get("callback_url")
    if not isinstance(url, str):
        return body
    try:
        parts = urlsplit(url)
    except ValueError:
        return body
    if parts.scheme not in ("http", "https") or not parts.netloc or "@" in parts.netloc:
        return body
    query = f"?{parts.query}" if parts.query else ""
    return body | {"callback_url": f"{CALLBACKS}{parts.path}{query}"}


def clean_headers(case):
    """The HTTP parser refuses such headers before a route is chosen."""
    headers = case.headers or {}
    for name in list(headers):
        if not HEADER_NAME.fullmatch(name):
            del headers[name]
        elif isinstance(headers[name], str) and CONTROL.search(headers[name]):
            headers[name] = CONTROL.sub("x", headers[name])


@atexit.register
def write_counts():
    counts = {}
    for (label, status), count in sorted(answers.items()):
        counts.setdefault(label, {})[status] = count
    with open(COUNTS, "w") as file:
        json.dump(counts, file)
