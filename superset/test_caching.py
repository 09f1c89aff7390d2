"""Prompt caching: marks are sent where the provider takes them, and cached tokens have their own price."""

import pytest
from conftest import (
    KINDS,
    MARKING_KINDS,
    assistant,
    call,
    chat,
    input_details,
    result,
    text,
    tool,
    unique,
    user,
)

MARK = {"type": "ephemeral"}
LONG_MARK = {"type": "ephemeral", "ttl": "1h"}


def manual():
    """A prompt that no other test has cached."""
    return unique("You know every crate of this port.") + " Crate." * 1000


def marked_twice(pro, kind, **params):
    """The details of two requests with the same prompt and different questions."""
    first = pro.answer(chat(kind, output_config={"effort": "low"}, **params))
    second = pro.answer(chat(kind, output_config={"effort": "low"}, **params))
    return input_details(first), input_details(second)


@pytest.mark.parametrize("kind", MARKING_KINDS)
def test_a_marked_system_prompt_is_written_once_and_then_read(pro, kind):
    system = [text(manual(), cache_control=MARK)]
    first, second = marked_twice(pro, kind, system=system)
    assert first["cache_write_tokens"] > 1000
    assert second == {"cached_tokens": first["cache_write_tokens"]}


def test_marked_tools_are_written_once_and_then_read(pro):
    tools = [tool(description=manual(), cache_control=MARK)]
    first, second = marked_twice(pro, "claude", tools=tools)
    assert first["cache_write_tokens"] > 1000
    assert second == {"cached_tokens": first["cache_write_tokens"]}


@pytest.mark.parametrize("kind", MARKING_KINDS)
def test_a_marked_block_is_written_once_and_then_read(pro, kind):
    beginning = text(manual(), cache_control=MARK)

    def ask():
        content = [beginning, text(unique())]
        return input_details(pro.answer(chat(kind, content, output_config={"effort": "low"})))

    first = ask()
    assert first["cache_write_tokens"] > 1000
    assert ask() == {"cached_tokens": first["cache_write_tokens"]}


@pytest.mark.parametrize("kind", MARKING_KINDS)
def test_a_mark_of_the_request_is_for_its_whole_prompt(pro, kind):
    prompt = manual()
    params = chat(kind, prompt, cache_control=MARK, output_config={"effort": "low"})
    first = pro.answer(params)
    second = pro.answer(params)
    assert input_details(first)["cache_write_tokens"] > 1000
    assert input_details(second)["cached_tokens"] == input_details(first)["cache_write_tokens"]


@pytest.mark.parametrize("kind", MARKING_KINDS)
def test_a_caller_who_only_marks_a_prompt_sees_what_was_cached(pro, kind):
    params = chat(kind, manual(), cache_control=MARK)
    first = pro.record(params)
    second = pro.record(params)
    written = input_details(first["response"])["cache_write_tokens"]
    assert written > 1000
    assert input_details(second["response"]) == {"cached_tokens": written}
    assert second["usage"] == second["response"]["usage"]


@pytest.mark.parametrize("place", ["request", "system", "block"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_mark_alone_adds_nothing_but_details_of_the_usage(pro, kind, place):
    question = unique("Where is it? [sim:think Hm.] [sim:cached 8] [sim:refuse]")
    marked = {
        "request": {"content": question, "cache_control": MARK},
        "system": {"content": question, "system": [text("Be brief.", cache_control=MARK)]},
        "block": {"content": [text(question, cache_control=MARK)]},
    }
    response = pro.answer(chat(kind, **marked[place]))
    assert response.keys() == {"id", "type", "role", "content", "model", "stop_reason", "usage"}
    assert [block["type"] for block in response["content"]] == ["text"]
    assert response["stop_reason"] == "end_turn"
    assert input_details(response)["cached_tokens"] == 8


@pytest.mark.parametrize("kind", ["gemini", "server"])
def test_marks_are_dropped_where_the_provider_caches_without_them(pro, kind):
    system = [text(manual(), cache_control=LONG_MARK)]
    tools = [tool(cache_control=LONG_MARK)]
    params = chat(kind, [text("Hello", cache_control=MARK)], system=system, tools=tools, cache_control=MARK)
    assert input_details(pro.answer(params)) == {}


@pytest.mark.parametrize("kind", KINDS)
def test_marks_on_blocks_of_tools_are_accepted(pro, kind):
    turns = [
        user(unique()),
        assistant([call() | {"cache_control": MARK}]),
        user([result(content=[text("pier 4", cache_control=MARK)], cache_control=MARK)]),
    ]
    pro.answer(chat(kind, messages=turns, tools=[tool()]))


def test_a_write_for_an_hour_costs_more(pro):
    def charge(mark):
        system = [text(manual(), cache_control=mark)]
        return pro.record(chat("claude", "Hello", system=system))["cost"]["charged"]

    assert charge(LONG_MARK) > charge(MARK)


@pytest.mark.parametrize("kind", KINDS)
def test_cached_tokens_are_charged_at_their_own_price(pro, kind):
    question = unique("Where are the crates? " * 40 + "[sim:cached 128]")
    record = pro.record(chat(kind, question, output_config={"effort": "low"}))
    usage = record["response"]["usage"]
    assert usage["input_tokens_details"] == {"cached_tokens": 128}
    fresh = usage["input_tokens"] - 128
    # Nano-dollars for a token, see models.toml.
    assert record["cost"]["charged"] == fresh * 100 + 128 * 10 + usage["output_tokens"] * 400


@pytest.mark.parametrize("kind", MARKING_KINDS)
def test_written_tokens_are_charged_at_their_own_price(pro, kind):
    question = unique("Where are the crates? " * 40 + "[sim:cached 128] [sim:write 16]")
    record = pro.record(chat(kind, question, output_config={"effort": "low"}))
    usage = record["response"]["usage"]
    assert usage["input_tokens_details"] == {"cached_tokens": 128, "cache_write_tokens": 16}
    fresh = usage["input_tokens"] - 128 - 16
    assert record["cost"]["charged"] == fresh * 100 + 128 * 10 + 16 * 125 + usage["output_tokens"] * 400


def test_organizations_share_no_cache(pro, other):
    system = [text(manual(), cache_control=MARK)]
    for caller in (pro, other):
        answer = caller.answer(chat("chat", system=system, output_config={"effort": "low"}))
        assert "cached_tokens" not in input_details(answer)
