"""Presets: accounts of services with the API of OpenAI, in the dialect of each."""

import pytest
from conftest import assistant, blocks, chat, expected_text, only_text, result, tool, unique, user

PRESETS = ["azure", "groq"]


@pytest.mark.parametrize("preset", PRESETS)
def test_a_batch_is_answered(pro, preset):
    question = unique("Where is crate 7?")
    record = pro.record(chat(preset, question))
    assert record["success"] is True, record
    assert only_text(record["response"]) == expected_text(question)
    assert record["attempt"] == 1


@pytest.mark.parametrize("preset", PRESETS)
def test_flex_is_answered(pro, preset):
    question = unique("Where is crate 7?")
    record = pro.record(chat(f"{preset}-flex", question))
    assert record["success"] is True, record
    assert only_text(record["response"]) == expected_text(question)
    assert record["route"] == {"via": "flex", "reason": "flex_queue_short"}


@pytest.mark.parametrize("preset", PRESETS)
def test_a_call_is_answered_with_its_result(pro, preset):
    question = unique('Where is it? [sim:tool find_crate {"crate":7}]')
    first = pro.answer(chat(preset, question, tools=[tool()]))
    [call] = blocks(first, "tool_use")
    assert call["input"] == {"crate": 7}
    history = [user(question), assistant([call]), user([result(call["id"])])]
    second = pro.answer(chat(preset, messages=history, tools=[tool()]))
    assert "at pier 4" in only_text(second)


def test_azure_embeds(pro):
    response = pro.answer({"model": "azure-embed", "input_text": unique("a crate")})
    assert len(response["embeddings"]) == 1
