"""Every field of the superset, as the encoders write it, against the request types of the providers' clients."""

import json
import os
import subprocess

import pytest
from request_types import SERVER_FIELDS, faults
from sample_requests import PROVIDER_OPTIONS, sample_requests

SAMPLES = sample_requests()
NAMES = [request["name"] for request in SAMPLES]
EMBEDDINGS = [request["name"] for request in SAMPLES if "input_text" in request["params"]]
CHATS = [name for name in NAMES if name not in EMBEDDINGS]

BUDGETS = [f"enabled {display}" for display in (None, "summarized", "omitted")]
OPENAI_RESPONSES = dict.fromkeys(BUDGETS, "budget") | {"video": "video"}
OPENAI_CHAT = OPENAI_RESPONSES | {"files in a result": "file"}
GEMINI_LEVELS = dict.fromkeys(BUDGETS, "budget_tokens") | {"embeddings": "one text"}
REFUSED = {
    "chat": OPENAI_CHAT,
    "chat-flex": OPENAI_CHAT,
    "groq": OPENAI_CHAT,
    "responses": OPENAI_RESPONSES,
    "responses-flex": OPENAI_RESPONSES,
    "azure": OPENAI_RESPONSES,
    "server": {"files in a result": "file", "files": "PDF", "marked files": "PDF"},
    "anthropic": {"video": "video"} | dict.fromkeys(EMBEDDINGS, "embeddings"),
    "gemini-budgets": {"embeddings": "one text"},
    "gemini-levels": GEMINI_LEVELS,
    "gemini-flex": GEMINI_LEVELS | {name: "flex" for name in EMBEDDINGS if name != "embeddings"},
}
"""By route, the requests that an encoder refuses, and a word of the reason. Loads with them are refused before."""

TIERS = {"chat-flex": "service_tier", "responses-flex": "service_tier", "gemini-flex": "serviceTier"}
"""The field of the tier, by route."""

ROUTES_WITHOUT_EMBEDDINGS = ("chat-flex", "responses-flex")
"""The catalogue refuses routes of embeddings by flex."""

CASES = [
    (route, name) for route in REFUSED for name in (CHATS if route in ROUTES_WITHOUT_EMBEDDINGS else NAMES)
]


@pytest.fixture(scope="session")
def encoded():
    """What the encoders write, by route and name of the request."""
    assert len(set(NAMES)) == len(NAMES), "two requests have the same name"
    printed = subprocess.run(
        [os.environ["ENCODED_REQUESTS"]],
        input=json.dumps(SAMPLES),
        capture_output=True,
        check=True,
        text=True,
    )
    lines = [json.loads(line) for line in printed.stdout.splitlines()]
    return {(line["route"], line["name"]): line for line in lines}


def test_each_route_is_checked(encoded):
    assert {route for route, _ in encoded} == set(REFUSED)


@pytest.mark.parametrize(("route", "name"), CASES)
def test_an_encoded_request_has_the_types_of_the_client(encoded, route, name):
    line = encoded[route, name]
    reason = REFUSED[route].get(name)
    if reason is not None:
        assert reason in line["refusal"]
        return
    assert line["refusal"] is None
    assert faults(line["api"], line["kind"], line["body"]) == []


@pytest.mark.parametrize("route", REFUSED)
def test_only_a_flex_request_names_its_tier(encoded, route):
    field = TIERS.get(route)
    for name in CHATS:
        body = encoded[route, name]["body"]
        if body is not None:
            tiers = {key: body[key] for key in ("service_tier", "serviceTier") if key in body}
            assert tiers == ({} if field is None else {field: "flex"}), name


PLACES_OF_OPTIONS = {
    "chat": ("openai", []),
    "responses": ("openai", ["text"]),
    "azure": ("openai", ["text"]),
    "groq": ("openai", []),
    "anthropic": ("anthropic", []),
    "gemini-levels": ("gemini", ["generationConfig"]),
    "server": ("server", []),
}
"""By route, the kind of its provider, and the object with the options."""


@pytest.mark.parametrize("route", PLACES_OF_OPTIONS)
def test_options_of_the_caller_go_to_their_kind_of_provider(encoded, route):
    kind, place = PLACES_OF_OPTIONS[route]
    body = encoded[route, "options"]["body"]
    target = body
    for step in place:
        target = target[step]
    assert {key: target.get(key) for key in PROVIDER_OPTIONS[kind]} == PROVIDER_OPTIONS[kind]
    others = {key for other, options in PROVIDER_OPTIONS.items() if other != kind for key in options}
    assert others.isdisjoint(body) and others.isdisjoint(target)


def test_a_server_gets_each_field_that_only_servers_have(encoded):
    bodies = [encoded["server", name]["body"] for name in CHATS]
    sent = {key for body in bodies if body is not None for key in body}
    assert set(SERVER_FIELDS) <= sent
    assert any("video_url" in json.dumps(body) for body in bodies)


@pytest.mark.parametrize(
    "route",
    ["chat", "responses", "azure", "groq", "server", "anthropic", "gemini-levels", "gemini-budgets"],
)
@pytest.mark.parametrize("name", ["plain", "tool loop", "format", "marked text"])
def test_a_planted_field_is_found_at_every_level(encoded, route, name):
    """The check itself: each object of the request that has a type of the client refuses another field."""
    line = encoded[route, name]
    places = list(typed_objects(line["body"]))
    assert len(places) > 1
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


def user(part):
    return {"role": "user", "content": [part]}


@pytest.mark.parametrize(
    ("api", "kind", "body"),
    [
        ("chat", "chat", {"model": "m", "messages": [{"role": "user", "content": "a"}], "max_output_tokens": 5}),
        ("chat", "chat", {"messages": [{"role": "user", "content": "a"}]}),
        ("chat", "embedding", {"model": "m", "input": "a", "taskType": "CLUSTERING"}),
        ("responses", "chat", {"model": "m", "input": "a", "stop": ["END"]}),
        ("responses", "chat", {"model": "m", "input": "a", "reasoning_effort": "low"}),
        ("server", "chat", {"model": "m", "messages": [], "max_tokens": 5, "n_predict": 5}),
        ("server", "chat", {"model": "m", "messages": [], "top_k": "5"}),
        ("server", "chat", {"model": "m", "messages": [user({"type": "video_url", "video_url": "a"})]}),
        ("anthropic", "chat", {"model": "m", "max_tokens": 5, "messages": [], "seed": 1}),
        ("anthropic", "chat", {"model": "m", "messages": []}),
        ("gemini", "chat", {"contents": [], "generationConfig": {"max_tokens": 5, "seed": 1}}),
        ("gemini", "chat", {"contents": [], "model": "m", "messages": []}),
    ],
)
def test_a_field_of_another_provider_is_found(api, kind, body):
    assert faults(api, kind, body) != []
