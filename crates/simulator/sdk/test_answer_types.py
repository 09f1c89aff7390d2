"""Every feature of an answer, as each simulated API writes it, against the types of the providers' clients."""

import json

import pytest
from answer_shapes import shape, token_counts
from answer_types import faults, wrong_bodies
from conftest import Account
from sample_questions import CHAT_APIS, PATHS, PROVIDERS, QUESTIONS, body_of, directed

ENDED = ("stop", "completed", "end_turn", "STOP")
CALLED = ("tool_calls", "completed", "tool_use", "STOP")
CUT = ("length", "max_output_tokens", "max_tokens", "MAX_TOKENS")
FILTERED = ("content_filter", "content_filter", "refusal", "SAFETY")
NAMED = ("MALFORMED_FUNCTION_CALL", "completed", "MALFORMED_FUNCTION_CALL", "MALFORMED_FUNCTION_CALL")
EXPECTED = {
    "limit": (CUT, ["text"]),
    "stop sequence": (("stop", "completed", "stop_sequence", "STOP"), ["text"]),
    "tool": (CALLED, ["call"]),
    "parallel tools": (CALLED, ["call", "call"]),
    "tool without id": (CALLED, ["call"]),
    "tool with bad arguments": (CALLED, ["call"]),
    "truncated tool": (CUT, ["call"]),
    "thinking": (ENDED, ["thought", "text"]),
    "thinking and tool": (CALLED, ["thought", "call"]),
    "thinking unasked": (ENDED, ["thought", "text"]),
    "refusal": (("stop", "completed", "refusal", "SAFETY"), ["refusal"]),
    "refusal without text": (FILTERED, []),
    "blocked": (FILTERED, []),
    "truncated": (CUT, ["text"]),
    "continuation": (("length", "max_output_tokens", "max_tokens", "CONTINUATION"), ["text"]),
    "malformed": (("abort", "server_error", "end_turn", "MALFORMED_RESPONSE"), []),
    "malformed call": (NAMED, ["text"]),
    "usage with thoughts": (ENDED, ["thought", "text"]),
    "usage without thoughts": (ENDED, ["thought", "text"]),
}
"""The ending in Chat Completions, Responses, Messages and Gemini, and the parts. Other answers are a text."""

USAGE_FAULTS = ("usage of null", "usage of strings")
OPENAI_FAULTS = {
    "malformed": "choices.0.finish_reason",
    "malformed call": "choices.0.finish_reason",
    "tool without id": "choices.0.message.tool_calls.0",
} | dict.fromkeys(USAGE_FAULTS, "usage")
ANTHROPIC_FAULTS = {
    "malformed call": "stop_reason",
    "tool without id": "content.0",
    "tool with bad arguments": "content.0",
    "no usage": "usage",
} | dict.fromkeys(USAGE_FAULTS, "usage")
FAULTS = dict.fromkeys(CHAT_APIS, OPENAI_FAULTS) | {
    "responses": dict.fromkeys(USAGE_FAULTS, "usage"),
    "anthropic": ANTHROPIC_FAULTS,
    # A count can be missing, and a call needs no id.
    "gemini": {
        "usage of strings": "usageMetadata",
        "tool with bad arguments": "candidates.0.content.parts.0.functionCall.args",
    },
}
"""What directives make wrong on purpose, because some servers do: by API and question, where."""

COUNTS = {
    "cached": (100, 0, 0),
    "cache write": (0, 50, 0),
    "cached and written": (100, 50, 0),
    "thinking unasked": (0, 0, 1),
    "thinking and tool": (0, 0, 3),
}
"""Tokens read from a cache, written to it, and thought."""


def ask(api, question):
    account = Account(PROVIDERS.get(api, api))
    status, text = account.call("POST", PATHS[api], body_of(api, question))
    assert status == 200, text
    return json.loads(text)


def expected_shape(api, name):
    endings, parts = EXPECTED.get(name, (ENDED, ["text"]))
    column = {"responses": 1, "anthropic": 2, "gemini": 3}.get(api, 0)
    if api == "responses" and name == "failed response":
        return "server_error", []
    if api in ("chat", "azure", "groq"):
        # OpenAI only counts thoughts.
        parts = [part for part in parts if part != "thought"]
    if api in ("anthropic", "gemini"):
        # The refusal is a text, and only the ending says what it is.
        parts = ["text" if part == "refusal" else part for part in parts]
    return endings[column], parts


def check_answer(api, name, body):
    place = FAULTS[api].get(name)
    found = faults(api, body)
    if place is None:
        assert found == []
    else:
        assert found != []
        assert all(fault == place or fault.startswith(f"{place}.") for fault in found), found
    assert shape(api, body) == expected_shape(api, name)


@pytest.mark.parametrize("name", QUESTIONS)
@pytest.mark.parametrize("api", PATHS)
def test_an_answer_has_the_types_of_the_client(api, name):
    if (api, name) == ("responses", "stop sequence"):
        assert "stop" not in body_of(api, QUESTIONS[name]), "this API has no stop sequences"
    check_answer(api, name, ask(api, QUESTIONS[name]))


@pytest.mark.parametrize("name", COUNTS)
@pytest.mark.parametrize("api", PATHS)
def test_tokens_are_counted_where_the_client_reads_them(api, name):
    cached, written, thought = COUNTS[name]
    # Gemini does not count what is written to a cache.
    expected = (cached, 0 if api == "gemini" else written, thought)
    assert token_counts(api, ask(api, QUESTIONS[name])) == expected


@pytest.mark.parametrize("api", ["chat", "responses", "gemini"])
def test_an_answer_names_its_tier(api):
    body = ask(api, QUESTIONS["flex"])
    assert (body["usageMetadata"]["serviceTier"] if api == "gemini" else body["service_tier"]) == "flex"


@pytest.mark.parametrize("provider", ["openai", "server"])
@pytest.mark.parametrize("text", ["hello", "[sim:absurd-usage] hello"])
def test_embeddings_have_the_types_of_the_client(provider, text):
    question = {"model": "embed-sim", "input": [text, "world"], "encoding_format": "float"}
    status, answer = Account(provider).call("POST", "/v1/embeddings", question)
    assert status == 200
    body = json.loads(answer)
    assert faults(f"{provider} embedding", body) == []
    assert [each["index"] for each in body["data"]] == [0, 1]


def test_an_embedding_of_gemini_has_the_types_of_the_client(gemini_account):
    question = {"content": {"parts": [{"text": "hello"}]}, "outputDimensionality": 4}
    status, answer = gemini_account.call("POST", "/v1beta/models/embed-sim:embedContent", question)
    assert status == 200
    body = json.loads(answer)
    assert (faults("gemini embedding", body), len(body["embedding"]["values"])) == ([], 4)
    assert faults("gemini embedding", {"embedding": {"values": ["planted"]}}) == ["embedding.values.0"]


# The real APIs of both have more statuses; these have a type of their own in the clients.
@pytest.mark.parametrize("status", [400, 401, 403, 404, 429, 500, 504, 529])
@pytest.mark.parametrize(("api", "kind"), [("chat", "openai error"), ("anthropic", "anthropic error")])
def test_an_error_has_the_types_of_the_client(api, kind, status):
    question = directed(f"fail {status}")
    answered, text = Account(PROVIDERS.get(api, api)).call("POST", PATHS[api], body_of(api, question))
    assert answered == status
    body = json.loads(text)
    assert faults(kind, body) == []
    assert body["error"]["message"] == f"simulated failure {status}"


PLANTED = [("chat", "tool"), ("chat", "refusal"), ("server", "thinking and tool")]
PLANTED += [("responses", "thinking and tool"), ("responses", "refusal"), ("responses", "malformed")]
PLANTED += [("anthropic", "thinking and tool"), ("anthropic", "refusal without text"), ("anthropic", "cache write")]
PLANTED += [("gemini", "thinking and tool"), ("gemini", "blocked"), ("gemini", "cached")]


@pytest.mark.parametrize(("api", "name"), PLANTED)
def test_a_planted_type_is_found_at_every_place(api, name):
    """The check itself: no value of an answer can have another type, and no name of an ending another spelling."""
    body = ask(api, QUESTIONS[name])
    planted = list(wrong_bodies(body))
    assert len(planted) > 7
    missed = [".".join(place) for place, wrong in planted if faults(api, wrong) == []]
    assert missed == FREE_PLACES.get(api, [])


FREE_PLACES = {
    # Fields of servers, which the client's types do not have.
    "server": ["choices.0.message.reasoning_content", "choices.0.stop_reason"],
    "responses": ["store"],
}


@pytest.mark.parametrize(
    ("api", "place"),
    [
        ("chat", ("choices", 0, "finish_reason")),
        ("responses", ("status",)),
        ("anthropic", ("stop_reason",)),
        ("gemini", ("candidates", 0, "finishReason")),
    ],
)
def test_a_planted_ending_is_found(api, place):
    body = ask(api, QUESTIONS["plain"])
    target = body
    for step in place[:-1]:
        target = target[step]
    target[place[-1]] = "planted"
    assert faults(api, body) == [".".join(map(str, place))]


@pytest.mark.parametrize("api", ["chat", "responses", "anthropic", "gemini"])
def test_a_planted_field_is_found(api):
    body = ask(api, QUESTIONS["plain"]) | {"planted": 1}
    assert faults(api, body) == ["planted"]
