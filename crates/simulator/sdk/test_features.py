"""Answers with tool calls, thoughts, schemas and caches, parsed by the providers' own clients."""

import json

import anthropic
import openai
import pytest
from conftest import expected, poll
from google import genai
from google.genai import types

SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}


@pytest.fixture
def openai_client(openai_account):
    return openai.OpenAI(api_key=openai_account.key, base_url=openai_account.url("/v1"), max_retries=0)


@pytest.fixture
def anthropic_client(anthropic_account):
    return anthropic.Anthropic(api_key=anthropic_account.key, base_url=anthropic_account.url(), max_retries=0)


@pytest.fixture
def gemini_client(gemini_account):
    options = types.HttpOptions(base_url=gemini_account.url())
    return genai.Client(api_key=gemini_account.key, http_options=options)


def test_chat_completions_call_tools(openai_client):
    reply = openai_client.chat.completions.create(
        model="gpt-sim",
        messages=[{"role": "user", "content": "hello"}],
        tools=[{"type": "function", "function": {"name": "weather", "parameters": SCHEMA, "strict": True}}],
        tool_choice="required",
    )
    call = reply.choices[0].message.tool_calls[0]
    assert (call.function.name, json.loads(call.function.arguments)) == ("weather", {"city": "sim"})
    assert reply.choices[0].finish_reason == "tool_calls"


def test_responses_reason_and_call_tools(openai_client):
    tool = {"type": "function", "name": "weather", "parameters": SCHEMA, "strict": True}
    question = [{"role": "user", "content": "[sim:tool weather]"}]
    first = openai_client.responses.create(
        model="gpt-5.6",
        input=question,
        tools=[tool],
        reasoning={"effort": "low", "summary": "auto"},
        include=["reasoning.encrypted_content"],
        store=False,
    )
    assert [item.type for item in first.output] == ["reasoning", "function_call"]
    assert first.usage.output_tokens_details.reasoning_tokens == 3
    history = [item.model_dump(exclude_none=True) for item in first.output]
    result = {"type": "function_call_output", "call_id": first.output[1].call_id, "output": "rain"}
    second = openai_client.responses.create(model="gpt-5.6", input=[*question, *history, result], tools=[tool])
    assert second.output_text == expected("rain")


def test_responses_are_batched(openai_client):
    body = {"model": "gpt-sim", "input": "[sim:cached 100] hello"}
    line = {"custom_id": "a", "method": "POST", "url": "/v1/responses", "body": body}
    file = openai_client.files.create(file=("in.jsonl", json.dumps(line).encode()), purpose="batch")
    batch = openai_client.batches.create(
        input_file_id=file.id, endpoint="/v1/responses", completion_window="24h"
    )
    done = poll(lambda: openai_client.batches.retrieve(batch.id), lambda it: it.status == "completed")
    answer = json.loads(openai_client.files.content(done.output_file_id).text)["response"]["body"]
    response = openai.types.responses.Response.model_validate(answer)
    assert response.usage.input_tokens_details.cached_tokens == 100
    assert response.output_text == expected("[sim:cached 100] hello")


def test_flex_is_refused_or_served(openai_client, openai_account):
    def ask():
        return openai_client.chat.completions.create(
            model="gpt-sim", messages=[{"role": "user", "content": "hello"}], service_tier="flex"
        )

    assert ask().service_tier == "flex"
    openai_account.faults({"name": "flex_unavailable", "times": 1})
    with pytest.raises(openai.RateLimitError) as caught:
        ask()
    assert caught.value.code == "resource_unavailable"
    bill = openai_account.admin("GET", "bill")
    assert [(line["tier"], line["requests"]) for line in bill] == [("flex", 1)]


def test_messages_think_and_call_tools(anthropic_client):
    tool = {"name": "weather", "input_schema": SCHEMA, "strict": True}
    question = {"role": "user", "content": "[sim:tool weather]"}

    def ask(messages):
        return anthropic_client.messages.create(
            model="claude-opus-4-6",
            max_tokens=2000,
            messages=messages,
            tools=[tool],
            thinking={"type": "adaptive", "display": "summarized"},
        )

    first = ask([question])
    assert [block.type for block in first.content] == ["thinking", "tool_use"]
    assert first.content[1].input == {"city": "sim"}
    assert first.usage.output_tokens_details.thinking_tokens == 3
    history = [block.model_dump(exclude_none=True) for block in first.content]
    result = {"type": "tool_result", "tool_use_id": first.content[1].id, "content": "rain"}
    second = ask([question, {"role": "assistant", "content": history}, {"role": "user", "content": [result]}])
    assert second.content[-1].text == expected("rain")


def test_messages_cache_and_follow_a_schema(anthropic_client):
    reply = anthropic_client.messages.create(
        model="claude-sim",
        max_tokens=50,
        system=[{"type": "text", "text": "rule " * 80, "cache_control": {"type": "ephemeral", "ttl": "1h"}}],
        messages=[{"role": "user", "content": "hello"}],
        output_config={"format": {"type": "json_schema", "schema": SCHEMA}},
    )
    assert json.loads(reply.content[0].text) == {"city": "sim"}
    assert reply.usage.cache_creation.ephemeral_1h_input_tokens == 100


def test_a_silent_refusal_has_details(anthropic_client):
    reply = anthropic_client.messages.create(
        model="claude-sim", max_tokens=50, messages=[{"role": "user", "content": "[sim:refuse-empty]"}]
    )
    assert (reply.stop_reason, reply.content, reply.stop_details.category) == ("refusal", [], "general_harms")


def test_gemini_thinks_and_calls_functions(gemini_client):
    declaration = types.FunctionDeclaration(name="weather", parameters_json_schema=SCHEMA)
    config = types.GenerateContentConfig(
        tools=[types.Tool(function_declarations=[declaration])],
        automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
        thinking_config=types.ThinkingConfig(include_thoughts=True),
    )
    question = types.Content(role="user", parts=[types.Part(text="[sim:tool weather]")])
    first = gemini_client.models.generate_content(model="gemini-3-pro", contents=[question], config=config)
    assert first.function_calls[0].args == {"city": "sim"}
    assert first.usage_metadata.thoughts_token_count == 3
    result = types.Part.from_function_response(name="weather", response={"output": "rain"})
    history = [question, first.candidates[0].content, types.Content(role="user", parts=[result])]
    second = gemini_client.models.generate_content(model="gemini-3-pro", contents=history, config=config)
    assert second.text == expected("rain")


def test_gemini_follows_a_schema(gemini_client):
    config = types.GenerateContentConfig(response_mime_type="application/json", response_json_schema=SCHEMA)
    reply = gemini_client.models.generate_content(model="gemini-sim", contents="hello", config=config)
    assert json.loads(reply.text) == {"city": "sim"}
