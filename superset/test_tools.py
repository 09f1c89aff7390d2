"""Tools: the model asks for a call, the caller returns its result, and the model continues."""

import re

import pytest
from conftest import (
    KINDS,
    assistant,
    blocks,
    call,
    chat,
    only_text,
    result,
    schema,
    text,
    tool,
    unique,
    user,
)

DIRECTED_CALL = '[sim:tool find_crate {"crate":7}]'


def calls(response):
    assert response["stop_reason"] == "tool_use", response
    return blocks(response, "tool_use")


@pytest.mark.parametrize("kind", KINDS)
def test_the_model_calls_a_tool(pro, kind):
    response = pro.answer(chat(kind, unique(DIRECTED_CALL), tools=[tool()]))
    [made] = calls(response)
    assert made["name"] == "find_crate"
    assert made["input"] == {"crate": 7}
    assert re.fullmatch(r"[A-Za-z0-9_-]{1,64}", made["id"])


@pytest.mark.parametrize("kind", KINDS)
def test_an_answer_that_only_calls_has_no_text(pro, kind):
    response = pro.answer(chat(kind, unique(DIRECTED_CALL), tools=[tool()]))
    assert blocks(response, "text") == []


@pytest.mark.parametrize("kind", KINDS)
def test_a_model_with_tools_may_answer_in_words(pro, kind):
    response = pro.answer(chat(kind, tools=[tool()]))
    assert response["stop_reason"] == "end_turn"
    assert only_text(response).startswith("sim:")


@pytest.mark.parametrize("kind", KINDS)
def test_a_call_is_answered_with_its_result(pro, kind):
    question = user(unique(DIRECTED_CALL))
    first = pro.answer(chat(kind, messages=[question], tools=[tool()]))
    [made] = calls(first)
    turns = [question, assistant(first["content"]), user([result(made["id"], "crate 7 is at pier 4")])]
    response = pro.answer(chat(kind, messages=turns, tools=[tool()]))
    assert response["stop_reason"] == "end_turn"
    assert "at pier 4" in only_text(response)


@pytest.mark.parametrize("kind", KINDS)
def test_parallel_calls_have_different_ids_and_keep_their_order(pro, kind):
    both = '[sim:tool find_crate {"crate":1}] [sim:tool find_crate {"crate":2}]'
    made = calls(pro.answer(chat(kind, unique(both), tools=[tool()])))
    assert [each["input"]["crate"] for each in made] == [1, 2]
    assert made[0]["id"] != made[1]["id"]


@pytest.mark.parametrize("kind", KINDS)
def test_parallel_calls_are_answered_in_any_order(pro, kind):
    turns = [
        user(unique()),
        assistant([call("a"), call("b")]),
        user([result("b", "b is at pier 2"), result("a", "a is at pier 1")]),
    ]
    words = only_text(pro.answer(chat(kind, messages=turns, tools=[tool()])))
    assert "pier 1" in words and "pier 2" in words


@pytest.mark.parametrize("kind", KINDS)
def test_calls_of_another_provider_are_accepted(pro, kind):
    turns = [user(unique()), assistant([text("I look."), call("chatcmpl-1")]), user([result("chatcmpl-1")])]
    assert pro.answer(chat(kind, messages=turns, tools=[tool()]))["stop_reason"] == "end_turn"


@pytest.mark.parametrize("kind", KINDS)
def test_a_failed_tool_says_so(pro, kind):
    turns = [user(unique()), assistant([call()]), user([result(content="no such crate", is_error=True)])]
    assert "no such crate" in only_text(pro.answer(chat(kind, messages=turns, tools=[tool()])))


@pytest.mark.parametrize("kind", KINDS)
def test_a_result_may_be_blocks_of_text(pro, kind):
    content = [text("at pier 4,"), text("under a tarpaulin")]
    turns = [user(unique()), assistant([call()]), user([result(content=content)])]
    words = only_text(pro.answer(chat(kind, messages=turns, tools=[tool()])))
    assert "at pier 4," in words and "under a tarpaulin" in words


@pytest.mark.parametrize("kind", KINDS)
def test_a_result_may_be_empty(pro, kind):
    turns = [user(unique()), assistant([call()]), user([{"type": "tool_result", "tool_use_id": "call_1"}])]
    pro.answer(chat(kind, messages=turns, tools=[tool()]))


@pytest.mark.parametrize("kind", KINDS)
def test_words_may_follow_the_results(pro, kind):
    question = unique("And crate 8?")
    turns = [user(unique()), assistant([call()]), user([result(), text(question)])]
    assert question in only_text(pro.answer(chat(kind, messages=turns, tools=[tool()])))


@pytest.mark.parametrize("kind", KINDS)
def test_any_forces_a_call(pro, kind):
    params = chat(kind, tools=[tool("first"), tool("second")], tool_choice={"type": "any"})
    [made] = calls(pro.answer(params))
    assert made["name"] in ("first", "second")


@pytest.mark.parametrize("kind", KINDS)
def test_a_named_tool_is_called_with_input_of_its_schema(pro, kind):
    wanted = schema(pier={"type": "string", "enum": ["north", "south"]}, count={"type": "integer"})
    tools = [tool("first"), tool("second", input_schema=wanted)]
    [made] = calls(pro.answer(chat(kind, tools=tools, tool_choice={"type": "tool", "name": "second"})))
    assert made["name"] == "second"
    assert made["input"]["pier"] in ("north", "south")
    assert isinstance(made["input"]["count"], int)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("choice", ["auto", "none"])
def test_auto_and_none_do_not_force_a_call(pro, kind, choice):
    response = pro.answer(chat(kind, tools=[tool()], tool_choice={"type": choice}))
    assert response["stop_reason"] == "end_turn"


@pytest.mark.parametrize("kind", ["chat", "responses", "claude", "server"])
def test_parallel_calls_may_be_turned_off(pro, kind):
    choice = {"type": "auto", "disable_parallel_tool_use": True}
    pro.answer(chat(kind, tools=[tool()], tool_choice=choice))


@pytest.mark.parametrize("kind", ["chat", "responses", "claude", "gemini"])
def test_a_strict_tool_is_accepted(pro, kind):
    [made] = calls(pro.answer(chat(kind, unique(DIRECTED_CALL), tools=[tool(strict=True)])))
    assert made["input"] == {"crate": 7}


@pytest.mark.parametrize("kind", KINDS)
def test_a_tool_that_is_not_strict_takes_any_schema(pro, kind):
    loose = {"type": "object", "properties": {"crate": {"minimum": 1, "not": {"const": 13}}}}
    pro.answer(chat(kind, tools=[tool(input_schema=loose, strict=False)]))


@pytest.mark.parametrize("kind", ["chat", "responses", "server"])
def test_arguments_that_are_no_json_reach_the_caller(pro, kind):
    response = pro.answer(chat(kind, "[sim:badargs find_crate {crate: 7}]", tools=[tool()]))
    [made] = calls(response)
    assert made["input"] == {"_raw": "{crate: 7}"}


@pytest.mark.parametrize("kind", ["chat", "gemini", "server"])
def test_a_call_without_an_id_gets_one_that_can_be_answered(pro, kind):
    question = user(unique(f"[sim:noid] {DIRECTED_CALL}"))
    first = pro.answer(chat(kind, messages=[question], tools=[tool()]))
    [made] = calls(first)
    assert made["id"].startswith("toolu_")
    turns = [question, assistant(first["content"]), user([result(made["id"])])]
    assert pro.answer(chat(kind, messages=turns, tools=[tool()]))["stop_reason"] == "end_turn"


@pytest.mark.parametrize("kind", KINDS)
def test_a_call_that_is_cut_is_delivered(pro, kind):
    response = pro.answer(chat(kind, unique(f"{DIRECTED_CALL} [sim:cut]"), tools=[tool()]))
    assert response["stop_reason"] == "max_tokens"
    assert blocks(response, "tool_use")


def test_a_hundred_and_twenty_eight_tools_are_accepted(pro):
    tools = [tool(f"tool_{number}") for number in range(128)]
    pro.answer(chat("chat", tools=tools))


def test_names_of_sixty_four_characters_are_accepted(pro):
    name = "a" * 64
    params = chat("chat", tools=[tool(name)], tool_choice={"type": "tool", "name": name})
    [made] = calls(pro.answer(params))
    assert made["name"] == name


def test_a_tool_of_type_custom_is_a_function(pro):
    pro.load(chat("claude", tools=[tool(type="custom")]))
