"""Usage and stop reasons of extended requests."""

import pytest
from conftest import KINDS, blocks, chat, only_text, unique

LOW = {"effort": "low"}
EXTENDED_FIELDS = {"id", "type", "role", "content", "model", "stop_reason", "usage"}
COUNTS = {"input_tokens", "output_tokens"}


@pytest.mark.parametrize("kind", KINDS)
def test_details_that_are_zero_are_left_out(pro, kind):
    # The empty field makes the request extended, and asks for nothing.
    assert pro.answer(chat(kind, output_config={}))["usage"].keys() == COUNTS


@pytest.mark.parametrize("kind", KINDS)
def test_cached_tokens_are_a_part_of_the_input(pro, kind):
    usage = pro.answer(chat(kind, unique("Crates! " * 50 + "[sim:cached 64]"), output_config=LOW))["usage"]
    assert usage["input_tokens_details"]["cached_tokens"] == 64
    assert usage["input_tokens"] > 64


@pytest.mark.parametrize("kind", ["chat", "responses", "gemini"])
@pytest.mark.parametrize("style", ["inclusive", "exclusive"])
def test_thoughts_are_counted_once_however_the_provider_counts(pro, kind, style):
    question = unique(f"[sim:think one two three] [sim:usage {style}]")
    response = pro.answer(chat(kind, question, thinking={"type": "adaptive"}))
    words = len(only_text(response).split())
    assert response["usage"]["output_tokens"] == words + 3
    assert response["usage"]["output_tokens_details"] == {"thinking_tokens": 3}


@pytest.mark.parametrize("kind", KINDS)
def test_counts_may_be_strings(pro, kind):
    usage = pro.answer(chat(kind, unique("[sim:usage strings]"), output_config=LOW))["usage"]
    assert usage["input_tokens"] > 0 and usage["output_tokens"] > 0


@pytest.mark.parametrize("kind", KINDS)
def test_missing_counts_are_estimated(pro, kind):
    record = pro.record(chat(kind, unique("[sim:usage null]"), output_config=LOW))
    assert record["success"] is True
    assert record["usage"]["output_tokens"] > 0


@pytest.mark.parametrize("kind", ["chat", "responses", "gemini", "server"])
def test_more_cached_tokens_than_input_never_raise_the_charge(pro, kind):
    question = unique("Crates! " * 50 + "[sim:usage cached-over]")
    record = pro.record(chat(kind, question, output_config=LOW))
    usage = record["response"]["usage"]
    assert record["cost"]["charged"] <= usage["input_tokens"] * 100 + usage["output_tokens"] * 400


@pytest.mark.parametrize("kind", KINDS)
def test_a_refusal_has_its_own_stop_reason(pro, kind):
    response = pro.answer(chat(kind, unique("[sim:refuse]"), output_config=LOW))
    assert response["stop_reason"] == "refusal"
    assert "can't help" in only_text(response)


def test_a_refusal_says_why_where_the_provider_does(pro):
    response = pro.answer(chat("claude", unique("[sim:refuse]"), output_config=LOW))
    assert response["stop_details"]["category"] == "general_harms"
    assert response["stop_details"]["explanation"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_refusal_without_words_fails(pro, kind):
    record = pro.record(chat(kind, unique("[sim:refuse-empty]"), output_config=LOW))
    assert record["success"] is False
    assert record["error_code"] == "content_blocked"
    assert record["cost"]["charged"] == 0


@pytest.mark.parametrize("kind", KINDS)
def test_an_answer_that_is_cut_says_so(pro, kind):
    response = pro.answer(chat(kind, unique("one two three four [sim:cut]"), output_config=LOW))
    assert response["stop_reason"] == "max_tokens"


def test_a_continuation_of_google_is_cut(pro):
    response = pro.answer(chat("gemini", unique("[sim:continuation]"), output_config=LOW))
    assert response["stop_reason"] == "max_tokens"


def test_an_error_inside_a_response_fails_the_request(pro):
    record = pro.record(chat("responses", unique("[sim:responses-failed invalid_prompt]"), output_config=LOW))
    assert record["success"] is False
    assert record["error_code"] == "request_rejected"


@pytest.mark.parametrize("kind", KINDS)
def test_an_extended_answer_has_only_the_documented_fields(pro, kind):
    response = pro.answer(chat(kind, output_config=LOW))
    assert response.keys() == EXTENDED_FIELDS
    assert blocks(response, "text")


@pytest.mark.parametrize("kind", KINDS)
def test_the_callback_of_an_extended_request_is_its_record(pro, receiver, kind):
    params = chat(kind, unique("[sim:think Hm.]"), thinking={"type": "adaptive"})
    cargo = pro.load(params, callback_url=receiver.url)["cargo_id"]
    [body] = receiver.wait_for(1)
    record = pro.wait(cargo, {"callback_delivered"})
    assert body["response"] == record["response"]
    assert record["usage"] == record["response"]["usage"]
