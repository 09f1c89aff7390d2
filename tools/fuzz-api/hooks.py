"""Hooks of Schemathesis. They count the answers, use models and ids that exist, and rewrite what no route could get.

README.md says why. Requests change only by their own content and by those before, so that a seed repeats them.
"""

import atexit
import json
import os
import re
import sys
import threading
import zlib
from collections import Counter, deque
from pathlib import Path
from urllib.parse import urlsplit

import schemathesis

# Schemathesis loads this file by its path.
sys.path.append(str(Path(__file__).parent))
import ndjson_lines  # noqa: E402, F401

CALLBACKS = os.environ["LONGSHORE_FUZZ_CALLBACKS"]
"""The base URL of a receiver on this machine."""

COUNTS = os.environ["LONGSHORE_FUZZ_COUNTS"]
"""The file for the number of answers by operation and status."""

CHAT_MODELS = ["svc-mock", "svc-mock", "svc-mock", "mock-chat", "mock-vision", "mock-failing"]
EMBEDDING_MODELS = ["mock-embedding"]

NEED_SESSION = {"POST /files/{file_id}/complete", "POST /files/{file_id}/parts"}
"""For these, a file must be an open upload session."""

LOADS = {"POST /cargo/load", "POST /cargo/bulk", "POST /cargo/estimate"}

ID = re.compile(r"(file|crg|grp)_[0-9a-f]{32}")
HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")

answers = Counter()
known_ids = {name: deque(ids, maxlen=64) for name, ids in json.loads(os.environ["LONGSHORE_FUZZ_IDS"]).items()}
"""What exists at the start, and what the cases create."""

turns = Counter()
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
    if isinstance(case.body, dict):
        case.body = use_local_body(case.operation.label, case.body)


def use_local_body(label, body):
    if label in LOADS:
        return use_local_load(label, body)
    if label == "POST /groups":
        return use_local_callback(body)
    if label == "POST /cargo/wait" and isinstance(body.get("cargo_ids"), list):
        return body | {"cargo_ids": [known_id(label, "cargo_id", id) for id in body["cargo_ids"]]}
    return body


def use_local_load(label, body):
    """A load, or loads in `cargo`."""
    body = use_local_callback(use_known_model(use_known_group(label, body)))
    if isinstance(body.get("cargo"), list):
        items = [use_local_load(label, item) if isinstance(item, dict) else item for item in body["cargo"]]
        body = {**body, "cargo": items}
    return body


@schemathesis.hook
def after_call(ctx, case, response):
    with lock:
        answers[counted_as(case), response.status_code] += 1
        if 200 <= response.status_code < 300:
            remember_ids(counted_as(case), response)


def counted_as(case):
    """A method that the path does not have is no case of an operation: what accepts it proves nothing."""
    is_described = case.method.upper() == case.operation.method.upper()
    return case.operation.label if is_described else f"other methods of {case.operation.path}"


def remember_ids(label, response):
    """Other fields than these are for the checks to find."""
    if label == "GET /files":
        # The newest are open sessions, which have no content.
        files = sorted(response.json().get("files", []), key=lambda file: file["status"] != "ready")
        known_ids["file_id"].extend(file["id"] for file in files[:8])
    elif label == "POST /cargo/bulk":
        accepted = [item["cargo_id"] for item in response.json().get("results", []) if "cargo_id" in item]
        known_ids["cargo_id"].extend(accepted[:8])
    elif label in ("POST /files", "POST /cargo/load", "POST /groups"):
        body = response.json()
        for field, name in (("id", "file_id"), ("cargo_id", "cargo_id"), ("group_id", "group_id")):
            if field in body:
                known_ids[name].append(body[field])
        if label == "POST /files" and body.get("status") == "uploading":
            known_ids["session_id"].append(body["id"])


def use_known_ids(case):
    """Most ids that were made up become ids that exist."""
    label, changed = case.operation.label, {}
    for name, value in (case.path_parameters or {}).items():
        is_dots = str(value).upper().replace("%2E", ".") in {".", ".."}
        changed[name] = "dots" if is_dots else known_id(label, name, value)
    if changed != (case.path_parameters or {}):
        case.path_parameters = changed
    query = dict(case.query or {})
    if "group_id" in query:
        group = known_id(label, "group_id", query["group_id"])
        if group != query["group_id"]:
            case.query = query | {"group_id": group}


def known_id(label, name, value, is_made_up=ID.fullmatch):
    """Another one in each turn of an operation, because what is possible depends on the status of a file."""
    text = str(value)
    if label in NEED_SESSION:
        name = "session_id"
    with lock:
        known = list(known_ids.get(name, ()))
        if not known or text in known or not is_made_up(text):
            return value
        turn = turns[label, name]
        turns[label, name] += 1
    if label.startswith("DELETE"):
        # The newest, and fewer: some must be left for the other operations.
        return known[-1 - turn % len(known)] if turn % 4 < 2 else value
    # Old sessions are aborted.
    place = -1 - turn % len(known) if name == "session_id" else turn % len(known)
    return known[place] if turn % 4 < 3 else value


def use_known_group(label, body):
    """The description does not say how an id in a load looks, so any text counts as made up."""
    if not isinstance(body.get("group_id"), str):
        return body
    return body | {"group_id": known_id(label, "group_id", body["group_id"], is_made_up=bool)}


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
