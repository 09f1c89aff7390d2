"""Conversations that every model refuses: each fault is found at load, at its place."""

import pytest
from conftest import assistant, call, chat, json_format, result, schema, text, tool, user

MARK = {"type": "ephemeral"}
LONG_MARK = {"type": "ephemeral", "ttl": "1h"}
BUDGET = {"type": "enabled", "budget_tokens": 2048}


def loop(*turns, **params):
    """A conversation that starts with a question, with one tool."""
    params = {"tools": [tool()]} | params
    return chat("claude", messages=[user("Where is it?"), *turns], **params)


def test_a_call_without_a_result_is_refused(pro):
    params = loop(assistant([call()]), user("Well?"))
    assert pro.places(params) == ["params.messages.1.content.0.id"]


def test_a_call_at_the_end_is_refused(pro):
    assert pro.places(loop(assistant([text("I look."), call()]))) == ["params.messages.1.content.1.id"]


def test_a_result_without_a_call_is_refused(pro):
    params = loop(assistant("At pier 4."), user([result("other")]))
    assert pro.places(params) == ["params.messages.2.content.0.tool_use_id"]


def test_a_second_result_for_one_call_is_refused(pro):
    params = loop(assistant([call()]), user([result(), result()]))
    assert pro.places(params) == ["params.messages.2.content.1.tool_use_id"]


def test_a_late_result_is_refused(pro):
    params = loop(assistant([call()]), user([result()]), assistant("There."), user([result()]))
    assert pro.places(params) == ["params.messages.4.content.0.tool_use_id"]


def test_results_come_before_words(pro):
    params = loop(assistant([call()]), user([text("Here:"), result()]))
    assert pro.places(params) == ["params.messages.2.content.1"]


def test_ids_of_calls_are_unique(pro):
    params = loop(assistant([call()]), user([result()]), assistant([call()]), user([result()]))
    assert pro.places(params) == ["params.messages.3.content.0.id"]


def test_a_call_of_an_unknown_tool_is_refused(pro):
    params = loop(assistant([call(name="find_ship")]), user([result()]))
    assert pro.places(params) == ["params.messages.1.content.0.name"]


def test_a_conversation_with_calls_needs_tools(pro):
    params = loop(assistant([call()]), user([result()]), tools=None)
    assert pro.places(params) == ["params.tools"]


def test_two_tools_of_one_name_are_refused(pro):
    assert pro.places(chat("claude", tools=[tool(), tool("other"), tool()])) == ["params.tools.2.name"]


@pytest.mark.parametrize("kind", ["auto", "any", "none"])
def test_a_choice_needs_tools(pro, kind):
    assert pro.places(chat("claude", tool_choice={"type": kind})) == ["params.tool_choice"]


def test_a_chosen_tool_exists(pro):
    params = chat("claude", tools=[tool()], tool_choice={"type": "tool", "name": "find_ship"})
    assert pro.places(params) == ["params.tool_choice.name"]


@pytest.mark.parametrize(
    ("role", "block"),
    [
        ("user", call()),
        ("user", {"type": "thinking", "thinking": "", "signature": "v1.server."}),
        ("user", {"type": "redacted_thinking", "data": "x"}),
        ("assistant", result()),
    ],
)
def test_a_block_is_in_a_message_of_its_role(pro, role, block):
    params = chat("claude", messages=[{"role": role, "content": [block]}, user("?")], tools=[tool()])
    assert "params.messages.0.content.0" in pro.places(params)


@pytest.mark.parametrize("signature", ["ErUB", "v2.anthropic.YQ", "v1.other.YQ", "v1.anthropic.*"])
def test_a_signature_is_one_that_longshore_returned(pro, signature):
    thought = {"type": "thinking", "thinking": "Hm.", "signature": signature}
    params = loop(assistant([thought, text("There.")]), user("Sure?"))
    assert pro.places(params) == ["params.messages.1.content.0.signature"]


@pytest.mark.parametrize("kind", ["video", "tool_use", "tool_result", "thinking"])
def test_a_result_contains_text_images_and_documents(pro, kind):
    inner = {"type": kind, "source": {"file_id": "file_1"}}
    params = loop(assistant([call()]), user([result(content=[inner])]))
    assert pro.places(params) == ["params.messages.2.content.0.content.0.type"]


def test_stop_sequences_and_a_schema_exclude_each_other(pro):
    params = chat("claude", output_config=json_format(), stop_sequences=["END"])
    assert pro.places(params) == ["params.stop_sequences"]


def test_a_begun_answer_and_a_schema_exclude_each_other(pro):
    params = loop(assistant("{"), tools=None, output_config=json_format())
    assert pro.places(params) == ["params.messages.1"]


def test_a_budget_is_at_least_1024(pro):
    thinking = {"type": "enabled", "budget_tokens": 1023}
    assert pro.places(chat("claude", max_tokens=4096, thinking=thinking)) == ["params.thinking.budget_tokens"]


def test_a_budget_is_less_than_max_tokens(pro):
    assert pro.places(chat("claude", max_tokens=2048, thinking=BUDGET)) == ["params.thinking.budget_tokens"]


@pytest.mark.parametrize("choice", [{"type": "any"}, {"type": "tool", "name": "find_crate"}])
def test_a_budget_and_a_forced_call_exclude_each_other(pro, choice):
    params = chat("claude", max_tokens=4096, thinking=BUDGET, tools=[tool()], tool_choice=choice)
    assert pro.places(params) == ["params.tool_choice.type"]


def test_a_budget_and_a_begun_answer_exclude_each_other(pro):
    params = loop(assistant("It is"), tools=None, max_tokens=4096, thinking=BUDGET)
    assert pro.places(params) == ["params.thinking.type"]


def test_disabled_thinking_and_an_effort_exclude_each_other(pro):
    params = chat("claude", thinking={"type": "disabled"}, output_config={"effort": "low"})
    assert pro.places(params) == ["params.output_config.effort"]


def test_a_fifth_cache_mark_is_refused(pro):
    content = [text(f"part {number}", cache_control=MARK) for number in range(5)]
    assert pro.places(chat("claude", content)) == ["params.messages.0.content.4.cache_control"]


def test_the_mark_of_the_request_counts_too(pro):
    content = [text(f"part {number}", cache_control=MARK) for number in range(4)]
    assert pro.places(chat("claude", content, cache_control=MARK)) == ["params.cache_control"]


def test_long_marks_come_before_short_ones(pro):
    tools = [tool(cache_control=MARK)]
    system = [text("A manual.", cache_control=LONG_MARK)]
    assert pro.places(chat("claude", tools=tools, system=system)) == ["params.system.0.cache_control.ttl"]


def test_all_faults_are_reported_at_once(pro):
    params = chat(
        "claude",
        messages=[user([call()])],
        thinking={"type": "enabled", "budget_tokens": 1},
        tool_choice={"type": "any"},
        output_config=json_format(schema()),
        stop_sequences=["END"],
    )
    assert {
        "params.messages.0.content.0",
        "params.tools",
        "params.tool_choice",
        "params.thinking.budget_tokens",
        "params.stop_sequences",
    } <= set(pro.places(params))
