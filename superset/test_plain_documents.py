"""Plain requests: every field of what a caller sees, compared with what commit a351160 showed.

`plain_requests.jsonl` has a line for each case and model: the question, and the callback and the tracking record that
a351160 made of the simulator's answer. They were written down from its decoders, and then its own program was run
against this simulator on 2026-11-19: without `DIFFERENCES`, all 73 cases passed. Chat Completions stands for the
Responses API, which it did not have. `DIFFERENCES` lists what changed on purpose; nothing else may differ.
"""

import hashlib
import json
import re
import uuid
from copy import deepcopy
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from conftest import KINDS, Receiver, chat

RECORDED = [json.loads(line) for line in Path(__file__).with_name("plain_requests.jsonl").read_text().splitlines()]
MODELS = list(dict.fromkeys(recorded["model"] for recorded in RECORDED))
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")
METADATA = {"order": 7}
ACKNOWLEDGEMENT = {"cargo_id": "crg_{cargo}", "status": "success", "message": "Cargo loaded."}
ACKNOWLEDGEMENT_HEADERS = {"ratelimit-limit", "ratelimit-remaining", "ratelimit-reset", "x-api-version", "x-request-id"}
CALLBACK_HEADERS = {"content-type", "content-length", "host", "user-agent"}
OUTCOME_FIELDS = ("completed_at", "success", "response", "error", "error_code", "usage")
NO_TOKENS = {"input_tokens": 0, "output_tokens": 0}

INPUT, CACHED_INPUT, OUTPUT = 100, 10, 400
"""Nano-dollars per token. Realtime costs twice as much; only the model `chat` has a price for it."""


# --- what changed since a351160, on purpose ---


def unasked_calls_fail(case, callback, tracking):
    """A call that a plain request did not ask for is a failure. From Gemini it was an answer without text. The words
    for it changed."""
    if case["case"] == "a call":
        error = "the model stopped for an unsupported feature: tool_use"
        for document in (callback, tracking):
            document |= {"success": False, "response": None, "error": error}
        tracking["usage"] = NO_TOKENS
        tracking["cost"] |= {"charged": 0, "realtime": None, "saved": None}


def geminis_continuation_is_a_cut(case, callback, tracking):
    """`CONTINUATION` ends with `max_tokens`. It was taken for a filter, and ended with `end_turn`."""
    if (case["case"], case["model"]) == ("a continuation", "gemini"):
        for document in (callback, tracking):
            document["response"]["stop_reason"] = "max_tokens"


def counts_as_strings_are_read(case, callback, tracking):
    """Counts that are strings are read from every provider, and not from Gemini alone. They were estimated."""
    if case["case"] == "counts as strings":
        [block] = tracking["response"]["content"]
        set_usage(callback, tracking, -(-len(case["question"]) // 4), len(block["text"].split()))


def missing_counts_are_estimated(case, callback, tracking):
    """Counts that are null are estimated from Gemini, too. They were 0, and the answer was free."""
    if case["case"] == "no counts":
        [block] = tracking["response"]["content"]
        set_usage(callback, tracking, -(-(len("user") + len(case["question"])) // 4), -(-len(block["text"]) // 4))


def cached_tokens_have_their_own_price(case, callback, tracking):
    """A cached token costs what the provider's cache costs, and not as much as a fresh one."""
    if "cached tokens" in case["case"]:
        # Of more cached tokens than input, no more than the input count.
        cached = tracking["usage"]["input_tokens"] if case["case"] == "too many cached tokens" else 8
        set_cost(tracking, cached)


def failures_have_codes(case, callback, tracking):
    """Failed callbacks and every tracking record have `error_code`."""
    error = tracking["error"]
    tracking["error_code"] = None
    if error is not None:
        code = "content_blocked" if error.startswith("blocked by provider") else "unsupported_stop"
        tracking["error_code"] = callback["error_code"] = code


def tracking_says_what_is_erased(case, callback, tracking):
    """Tracking has `erased_at`: contents may have a retention of their own."""
    tracking["erased_at"] = None


DIFFERENCES = [
    unasked_calls_fail,
    geminis_continuation_is_a_cut,
    counts_as_strings_are_read,
    missing_counts_are_estimated,
    cached_tokens_have_their_own_price,
    failures_have_codes,
    tracking_says_what_is_erased,
]


def set_usage(callback, tracking, input_tokens, output_tokens):
    usage = {"input_tokens": input_tokens, "output_tokens": output_tokens}
    callback["response"]["usage"] = tracking["response"]["usage"] = tracking["usage"] = usage
    set_cost(tracking, 0)


def set_cost(tracking, cached):
    usage, cost = tracking["usage"], tracking["cost"]
    fresh = usage["input_tokens"] - cached
    cost["charged"] = fresh * INPUT + cached * CACHED_INPUT + usage["output_tokens"] * OUTPUT
    if cost["realtime"] is not None:
        cost |= {"realtime": 2 * cost["charged"], "saved": cost["charged"]}


# --- the documents ---


def fill(document, names):
    """A recorded document with the names of one cargo in place of `{cargo}` and so on."""
    if isinstance(document, dict):
        return {name: fill(value, names) for name, value in document.items()}
    if isinstance(document, list):
        return [fill(value, names) for value in document]
    if isinstance(document, str):
        for name, value in names.items():
            document = document.replace(f"{{{name}}}", value)
    return document


def hide_times(document):
    """A document with `{time}` in place of every time that is spelled as the contract spells it."""
    if isinstance(document, dict):
        return {name: hide_times(value) for name, value in document.items()}
    if isinstance(document, str) and TIME.fullmatch(document):
        return "{time}"
    return document


class Delivered:
    """One case: what the caller got, and what was recorded."""

    def __init__(self, caller, receiver, recorded):
        names = {"unique": uuid.uuid4().hex, "url": receiver.url}
        question = fill(recorded["question"], names)
        if recorded["tracking"]["kind"] == "embedding":
            params = {"model": recorded["model"], "input_text": question}
        else:
            params = chat(recorded["model"], question)
        self.case = recorded | {"question": question}
        self.loaded = caller.post(params, callback_url=receiver.url, metadata=METADATA)
        self.cargo = self.loaded.json()["cargo_id"]
        self.early = caller.track(self.cargo)
        names["cargo"] = self.cargo.removeprefix("crg_")
        names["digest"] = hashlib.sha256(question.encode()).hexdigest()[:16]
        callback, tracking = (fill(deepcopy(recorded[name]), names) for name in ("callback", "tracking"))
        for change in DIFFERENCES:
            change(self.case, callback, tracking)
        self.expected_callback, self.expected_tracking = callback, tracking

    def complete(self, caller, receiver):
        self.tracking = caller.wait(self.cargo, {"callback_delivered"})
        [index] = [index for index, body in enumerate(receiver.bodies) if body["cargo_id"] == self.cargo]
        self.callback, self.headers = receiver.bodies[index], receiver.headers[index]


def deliver_all(caller, model):
    """All cases of one model, completed and called back."""
    receiver = Receiver()
    try:
        cases = [Delivered(caller, receiver, recorded) for recorded in RECORDED if recorded["model"] == model]
        receiver.wait_for(len(cases))
        for case in cases:
            case.complete(caller, receiver)
    finally:
        receiver.close()
    return cases


def check_acknowledgement(case, name):
    assert case.loaded.status_code == 202, name
    assert case.loaded.headers["content-type"] == "application/json", name
    assert ACKNOWLEDGEMENT_HEADERS <= case.loaded.headers.keys(), name
    assert re.fullmatch(r"crg_[0-9a-f]{32}", case.cargo), name
    assert case.loaded.json() == fill(ACKNOWLEDGEMENT, {"cargo": case.cargo.removeprefix("crg_")}), name


def check_open_record(case, name):
    """What comes with the outcome is null before it. `waiting.code` was added on purpose."""
    record = hide_times(case.early)
    if record["completed_at"] is not None:
        return
    assert record["status"] in {"PENDING", "BATCHED", "PROCESSING"}, name
    assert record["waiting"].keys() == {"code", "reason", "since", "expected_at"}, name
    expected = case.expected_tracking | dict.fromkeys(OUTCOME_FIELDS)
    expected["cost"] = expected["cost"] | dict.fromkeys(("charged", "realtime", "saved"))
    url = expected["callback"]["url"]
    expected["callback"] = dict.fromkeys(expected["callback"]) | {"url": url, "attempts": 0}
    # How far the cargo has come depends on the moment.
    expected |= {field: record[field] for field in ("status", "batched_at", "processing_at", "waiting")}
    assert record == expected, name


def check_record(case, name):
    assert hide_times(case.tracking) == case.expected_tracking, name
    created, deadline = (datetime.fromisoformat(case.tracking[field]) for field in ("created_at", "deadline_at"))
    assert deadline - created == timedelta(hours=24), name


def check_callback(case, name):
    assert case.callback == case.expected_callback, name
    assert case.headers.keys() == CALLBACK_HEADERS, name
    assert case.headers["content-type"] == "application/json", name
    assert re.fullmatch(r"longshore/\d+\.\d+\.\d+\S*", case.headers["user-agent"]), name


@pytest.mark.parametrize("model", MODELS)
def test_a_caller_sees_every_field_as_recorded(pro, model):
    for case in deliver_all(pro, model):
        name = case.case["case"]
        check_acknowledgement(case, name)
        check_open_record(case, name)
        check_callback(case, name)
        check_record(case, name)


def test_every_surprise_was_recorded_for_every_provider():
    chats = [recorded for recorded in RECORDED if recorded["tracking"]["kind"] == "chat"]
    cases = {recorded["case"] for recorded in chats}
    assert {recorded["model"] for recorded in chats} == set(KINDS)
    assert len(chats) == len(cases) * len(KINDS)
    assert {"cached tokens", "thoughts", "a refusal", "a refusal without words"} <= cases
