"""OpenAI's Python client against a compatible realtime server."""

import openai
import pytest
from conftest import expected


@pytest.fixture
def client(server_account):
    return openai.OpenAI(api_key=server_account.key, base_url=server_account.url("/v1"), max_retries=0)


def test_a_chat_is_answered(client):
    reply = client.chat.completions.create(
        model="sim-chat",
        messages=[{"role": "system", "content": "be brief"}, {"role": "user", "content": "one two three"}],
        max_tokens=2,
    )
    assert reply.choices[0].message.content == " ".join(expected("one two three").split(" ")[:2])
    assert reply.choices[0].finish_reason == "length"


def test_models_are_listed(client):
    assert "sim-chat" in [it.id for it in client.models.list()]


def test_an_overloaded_server_says_so(client, server_account):
    server_account.faults({"name": "busy_503", "times": 1})
    with pytest.raises(openai.InternalServerError) as caught:
        client.chat.completions.create(model="sim-chat", messages=[{"role": "user", "content": "x"}])
    assert caught.value.status_code == 503
