"""Plain requests: whatever the provider returns, a caller who follows the contract sees the contract."""

import pytest
from conftest import KINDS, TRACKED_FIELDS, chat, expected_text, unique

RESPONSE_FIELDS = {"id", "type", "role", "content", "model", "stop_reason", "usage"}
CALLBACK_FIELDS = {"cargo_id", "success", "response", "error"}
CONTRACT_STOPS = {"end_turn", "max_tokens", "stop_sequence"}

SURPRISES = {
    "nothing": "",
    "thoughts": "[sim:think Count the crates.]",
    "cached tokens": "[sim:cached 8]",
    "a refusal": "[sim:refuse]",
    "a cut": "[sim:cut]",
    "a continuation": "[sim:continuation]",
    "thoughts and cached tokens": "[sim:think Count the crates.] [sim:cached 8]",
    "counts as strings": "[sim:usage strings]",
    "no counts": "[sim:usage null]",
    "too many cached": "[sim:usage cached-over]",
}
"""What a provider may return although the request is plain."""


def assert_contract(response, model):
    assert response.keys() == RESPONSE_FIELDS
    assert isinstance(response["id"], str)
    assert response["type"] == "message"
    assert response["role"] == "assistant"
    assert response["model"] == model
    assert response["stop_reason"] in CONTRACT_STOPS
    assert response["usage"].keys() == {"input_tokens", "output_tokens"}
    assert all(isinstance(count, int) for count in response["usage"].values())
    [block] = response["content"]
    assert block.keys() == {"type", "text"}
    assert block["type"] == "text"


@pytest.mark.parametrize("surprise", SURPRISES)
@pytest.mark.parametrize("kind", KINDS)
def test_a_plain_answer_is_the_contracts(pro, kind, surprise):
    assert_contract(pro.answer(chat(kind, unique(SURPRISES[surprise]))), kind)


@pytest.mark.parametrize("kind", KINDS)
def test_the_text_is_the_models(pro, kind):
    question = unique("[sim:think Hm.] [sim:cached 8] Where is it?")
    assert pro.answer(chat(kind, question))["content"] == [{"type": "text", "text": expected_text(question)}]


@pytest.mark.parametrize("kind", KINDS)
def test_the_record_has_the_contracts_fields(pro, kind):
    record = pro.record(chat(kind, unique("[sim:think Hm.] [sim:cached 8]")))
    assert record.keys() == TRACKED_FIELDS
    assert record["usage"].keys() == {"input_tokens", "output_tokens"}
    assert record["error"] is None and record["error_code"] is None
    assert record["waiting"] is None and record["callback"] is None


@pytest.mark.parametrize("kind", KINDS)
def test_the_callback_has_the_contracts_fields(pro, receiver, kind):
    cargo = pro.load(chat(kind, unique("[sim:think Hm.] [sim:refuse]")), callback_url=receiver.url)["cargo_id"]
    [body] = receiver.wait_for(1)
    assert body.keys() == CALLBACK_FIELDS
    assert (body["cargo_id"], body["success"], body["error"]) == (cargo, True, None)
    assert_contract(body["response"], kind)
    assert pro.wait(cargo, {"callback_delivered"})["response"] == body["response"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_refusal_in_words_ends_the_turn(pro, kind):
    response = pro.answer(chat(kind, unique("[sim:refuse]")))
    assert response["stop_reason"] == "end_turn"
    assert "can't help" in response["content"][0]["text"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_refusal_without_words_fails_and_costs_nothing(pro, kind):
    record = pro.record(chat(kind, unique("[sim:blocked]")))
    assert record["success"] is False
    assert record["response"] is None
    assert record["error_code"] == "content_blocked"
    assert record["cost"]["charged"] == 0


@pytest.mark.parametrize("kind", KINDS)
def test_calls_that_were_not_asked_for_fail(pro, kind):
    record = pro.record(chat(kind, unique("[sim:tool find_crate {}]")))
    assert record["success"] is False
    assert record["error_code"] == "unsupported_stop"
    assert record["cost"]["charged"] == 0


@pytest.mark.parametrize("kind", KINDS)
def test_a_stop_sequence_is_the_contracts(pro, kind):
    params = chat(kind, unique("one two three"), stop_sequences=["two"])
    response = pro.answer(params)
    assert_contract(response, kind)
    assert "two" not in response["content"][0]["text"]


@pytest.mark.parametrize("kind", KINDS)
def test_cached_tokens_are_cheaper_for_plain_requests_too(pro, kind):
    question = unique("Where are the crates? " * 40 + "[sim:cached 128]")
    record = pro.record(chat(kind, question))
    usage = record["response"]["usage"]
    fresh = usage["input_tokens"] - 128
    assert record["cost"]["charged"] == fresh * 100 + 128 * 10 + usage["output_tokens"] * 400


@pytest.mark.parametrize("kind", KINDS)
def test_every_contract_field_is_accepted(pro, kind):
    params = chat(kind, system="You are a docker.", temperature=0.5, stop_sequences=["END"])
    assert_contract(pro.answer(params), kind)


def test_the_acknowledgement_has_the_contracts_fields(pro):
    acknowledged = pro.load(chat("chat"), metadata={"order": 7})
    assert acknowledged.keys() == {"cargo_id", "status", "message"}
    assert acknowledged["status"] == "success"


def test_the_mock_model_answers_as_ever(pro):
    assert_contract(pro.answer(chat("svc-mock")), "svc-mock")


def test_a_seed_alone_leaves_the_answer_plain(pro):
    assert_contract(pro.answer(chat("chat", unique("[sim:cached 8]"), seed=7)), "chat")


def test_options_alone_leave_the_answer_plain(pro):
    options = {"openai": {"verbosity": "low"}}
    assert_contract(pro.answer(chat("chat", unique("[sim:cached 8]"), provider_options=options)), "chat")
