"""Thinking: thoughts come back with their provider's signature, and the next turn returns them."""

import pytest
from conftest import KINDS, THINKING_KINDS, assistant, blocks, chat, only_text, result, tool, unique, user

ADAPTIVE = {"type": "adaptive"}
SUMMARIZED = {"type": "adaptive", "display": "summarized"}
OMITTED = {"type": "adaptive", "display": "omitted"}
SIGNER = {"responses": "openai", "claude": "anthropic", "gemini": "gemini", "server": "server"}


def thinking_tokens(response):
    return response["usage"].get("output_tokens_details", {}).get("thinking_tokens", 0)


@pytest.mark.parametrize("kind", THINKING_KINDS)
def test_summarized_thoughts_are_in_the_answer(pro, kind):
    response = pro.answer(chat(kind, unique("[sim:think Count the crates.]"), thinking=SUMMARIZED))
    assert blocks(response, "thinking")[0]["thinking"] == "Count the crates."
    assert only_text(response).startswith("sim:")


@pytest.mark.parametrize("kind", THINKING_KINDS)
def test_a_signature_names_its_provider(pro, kind):
    response = pro.answer(chat(kind, unique("[sim:think Count the crates.]"), thinking=SUMMARIZED))
    for thought in blocks(response, "thinking"):
        assert thought["signature"].startswith(f"v1.{SIGNER[kind]}.")


@pytest.mark.parametrize("kind", THINKING_KINDS)
def test_thoughts_come_before_the_text(pro, kind):
    response = pro.answer(chat(kind, unique("[sim:think Count.]"), thinking=SUMMARIZED))
    kinds = [block["type"] for block in response["content"]]
    assert kinds[0] == "thinking"
    assert kinds[-1] == "text"


@pytest.mark.parametrize("kind", THINKING_KINDS)
def test_thoughts_are_returned_in_the_next_turn(pro, kind):
    """The simulator verifies every signature, so a lost or changed one fails the request."""
    question = user(unique("[sim:think Count the crates.]"))
    first = pro.answer(chat(kind, messages=[question], thinking=SUMMARIZED))
    turns = [question, assistant(first["content"]), user(unique("And now?"))]
    assert only_text(pro.answer(chat(kind, messages=turns, thinking=SUMMARIZED)))


@pytest.mark.parametrize("kind", THINKING_KINDS)
def test_thoughts_before_a_call_come_back_with_its_result(pro, kind):
    question = user(unique('[sim:think Look it up.] [sim:tool find_crate {"crate":7}]'))
    first = pro.answer(chat(kind, messages=[question], thinking=SUMMARIZED, tools=[tool()]))
    assert first["content"][0]["type"] == "thinking"
    [made] = blocks(first, "tool_use")
    turns = [question, assistant(first["content"]), user([result(made["id"], "at pier 4")])]
    second = pro.answer(chat(kind, messages=turns, thinking=SUMMARIZED, tools=[tool()]))
    assert "at pier 4" in only_text(second)


@pytest.mark.parametrize(
    ("writer", "reader"),
    [
        ("responses", "claude"),
        ("responses", "server"),
        ("claude", "chat"),
        ("claude", "gemini"),
        ("gemini", "responses"),
        ("server", "claude"),
    ],
)
def test_thoughts_of_another_provider_are_left_out(pro, writer, reader):
    question = user(unique("[sim:think Count the crates.]"))
    first = pro.answer(chat(writer, messages=[question], thinking=SUMMARIZED))
    turns = [question, assistant(first["content"]), user(unique("Are you sure?"))]
    assert only_text(pro.answer(chat(reader, messages=turns, thinking=ADAPTIVE)))


@pytest.mark.parametrize("kind", ["claude", "responses", "gemini"])
def test_omitted_thoughts_have_no_text(pro, kind):
    params = chat(kind, thinking=OMITTED, output_config={"effort": "low"})
    for thought in blocks(pro.answer(params), "thinking"):
        assert thought["thinking"] == ""


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("effort", ["low", "medium", "high"])
def test_an_effort_is_accepted(pro, kind, effort):
    assert only_text(pro.answer(chat(kind, output_config={"effort": effort})))


@pytest.mark.parametrize("kind", ["chat", "responses", "claude"])
@pytest.mark.parametrize("effort", ["xhigh", "max"])
def test_the_highest_efforts_are_accepted_where_the_model_has_them(pro, kind, effort):
    pro.load(chat(kind, output_config={"effort": effort}))


@pytest.mark.parametrize("kind", ["chat", "responses"])
def test_an_effort_makes_the_model_think(pro, kind):
    assert thinking_tokens(pro.answer(chat(kind, output_config={"effort": "high"}))) > 0


@pytest.mark.parametrize("kind", ["chat", "responses", "claude", "gemini-2.5-flash", "server"])
def test_thinking_is_turned_off(pro, kind):
    response = pro.answer(chat(kind, thinking={"type": "disabled"}))
    assert blocks(response, "thinking") == []
    assert thinking_tokens(response) == 0


@pytest.mark.parametrize("kind", ["claude", "server"])
def test_a_budget_is_accepted(pro, kind):
    thinking = {"type": "enabled", "budget_tokens": 1024}
    response = pro.answer(chat(kind, max_tokens=2048, thinking=thinking))
    assert blocks(response, "thinking")


def test_a_budget_is_accepted_by_a_model_of_google(pro):
    thinking = {"type": "enabled", "budget_tokens": 1024, "display": "summarized"}
    response = pro.answer(chat("gemini-2.5-flash", max_tokens=2048, thinking=thinking))
    assert blocks(response, "thinking")


@pytest.mark.parametrize("kind", ["chat", "responses", "claude", "gemini"])
def test_thoughts_are_counted_as_output(pro, kind):
    params = chat(kind, unique("[sim:think one two three four five]"), thinking=ADAPTIVE)
    response = pro.answer(params)
    assert thinking_tokens(response) == 5
    assert response["usage"]["output_tokens"] > 5


def test_redacted_thoughts_are_accepted(pro):
    turns = [
        user(unique()),
        assistant([{"type": "redacted_thinking", "data": "ZGF0YQ"}, {"type": "text", "text": "Twelve."}]),
        user(unique("Are you sure?")),
    ]
    assert only_text(pro.answer(chat("chat", messages=turns)))


def test_a_forged_signature_is_refused_by_its_provider(pro):
    thought = {"type": "thinking", "thinking": "Twelve.", "signature": "v1.anthropic.Zm9yZ2Vk"}
    turns = [user(unique()), assistant([thought, {"type": "text", "text": "Twelve."}]), user("Sure?")]
    record = pro.record(chat("claude", messages=turns, thinking=ADAPTIVE))
    assert record["success"] is False
    assert record["error_code"] == "request_rejected"
    assert record["cost"]["charged"] == 0
