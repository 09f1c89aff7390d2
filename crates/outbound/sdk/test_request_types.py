"""Every field of the superset, as the encoders write it, against the request types of the providers' clients."""

import json
import os
import subprocess

import pytest
from request_types import faults
from sample_requests import sample_requests

REFUSED = {
    "chat": {
        "enabled None": "budget",
        "enabled summarized": "budget",
        "enabled omitted": "budget",
        "files in a result": "file",
        "video": "video",
    },
    "responses": {
        "enabled None": "budget",
        "enabled summarized": "budget",
        "enabled omitted": "budget",
        "video": "video",
    },
    "anthropic": {"video": "video"}
    | {name: "embeddings" for name in ("embedding", "embeddings", "dimensions")}
    | {
        f"input type {kind}": "embeddings"
        for kind in ("query", "document", "similarity", "classification", "clustering")
    },
    "gemini-budgets": {"embeddings": "one text"},
    "gemini-levels": {
        "enabled None": "budget_tokens",
        "enabled summarized": "budget_tokens",
        "enabled omitted": "budget_tokens",
        "embeddings": "one text",
    },
}
"""By route, the requests that an encoder refuses, and a word of the reason. Loads with them are refused before."""


@pytest.fixture(scope="session")
def encoded():
    """What the encoders write, by route and name of the request."""
    requests = sample_requests()
    names = [request["name"] for request in requests]
    assert len(set(names)) == len(names), "two requests have the same name"
    printed = subprocess.run(
        [os.environ["ENCODED_REQUESTS"]],
        input=json.dumps(requests),
        capture_output=True,
        check=True,
        text=True,
    )
    lines = [json.loads(line) for line in printed.stdout.splitlines()]
    return {(line["route"], line["name"]): line for line in lines}


NAMES = [request["name"] for request in sample_requests()]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("route", ["chat", "responses", "anthropic", "gemini-levels", "gemini-budgets"])
def test_an_encoded_request_has_the_types_of_the_client(encoded, route, name):
    line = encoded[route, name]
    reason = REFUSED[route].get(name)
    if reason is not None:
        assert reason in line["refusal"]
        return
    assert line["refusal"] is None
    # Both APIs of OpenAI have the same embeddings.
    api = "chat" if line["kind"] == "embedding" and route == "responses" else line["api"]
    assert faults(api, line["kind"], line["body"]) == []


def test_a_flex_request_has_the_types_of_the_client(encoded):
    line = encoded["gemini-flex", "plain"]
    assert line["body"]["serviceTier"] == "flex"
    assert faults("gemini", "chat", line["body"]) == []


@pytest.mark.parametrize("route", ["chat", "responses", "anthropic", "gemini-levels"])
@pytest.mark.parametrize("name", ["plain", "tool loop", "format", "marked text"])
def test_a_planted_field_is_found_at_every_level(encoded, route, name):
    """The check itself: each object of the request that has a type of the client refuses another field."""
    line = encoded[route, name]
    places = list(typed_objects(line["body"]))
    assert len(places) > 2
    for place in places:
        planted = json.loads(json.dumps(line["body"]))
        target = planted
        for step in place:
            target = target[step]
        target["planted"] = 1
        assert faults(line["api"], line["kind"], planted) != [], place


FREE_OBJECTS = {
    "schema",
    "input_schema",
    "parameters",
    "parametersJsonSchema",
    "responseJsonSchema",
    "args",
    "response",
    "input",
}
"""Objects with the caller's own keys. `input` of the Responses API is a list, so it is not among them there."""


def typed_objects(value, place=()):
    if isinstance(value, dict):
        yield place
        for key, inner in value.items():
            if not (key in FREE_OBJECTS and isinstance(inner, dict)):
                yield from typed_objects(inner, (*place, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from typed_objects(inner, (*place, index))


@pytest.mark.parametrize(
    ("api", "kind", "body"),
    [
        ("chat", "chat", {"model": "m", "messages": [{"role": "user", "content": "a"}], "max_output_tokens": 5}),
        ("chat", "chat", {"messages": [{"role": "user", "content": "a"}]}),
        ("chat", "embedding", {"model": "m", "input": "a", "taskType": "CLUSTERING"}),
        ("responses", "chat", {"model": "m", "input": "a", "stop": ["END"]}),
        ("responses", "chat", {"model": "m", "input": "a", "reasoning_effort": "low"}),
        ("anthropic", "chat", {"model": "m", "max_tokens": 5, "messages": [], "seed": 1}),
        ("anthropic", "chat", {"model": "m", "messages": []}),
        ("gemini", "chat", {"contents": [], "generationConfig": {"max_tokens": 5, "seed": 1}}),
        ("gemini", "chat", {"contents": [], "model": "m", "messages": []}),
    ],
)
def test_a_field_of_another_provider_is_found(api, kind, body):
    assert faults(api, kind, body) != []
