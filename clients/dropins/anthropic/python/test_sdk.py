"""Anthropic's own Python client, unchanged, with another base URL."""

import anthropic
import pytest
from anthropic.types.message_create_params import MessageCreateParamsNonStreaming
from anthropic.types.messages.batch_create_params import Request

from conftest import API_KEY, BASE_URL, wait_until_ended


def request(custom_id, text, **more):
    params = {"model": "svc-mock", "max_tokens": 64, "messages": [{"role": "user", "content": text}], **more}
    return Request(custom_id=custom_id, params=MessageCreateParamsNonStreaming(**params))


def test_fifty_items_with_one_failure(client):
    requests = [request(f"item-{number}", f"text {number}") for number in range(49)]
    requests.insert(7, request("broken", "x", model="no-such-model"))
    batch = client.messages.batches.create(requests=requests)
    assert batch.id.startswith("msgbatch_")
    assert batch.request_counts.processing == 50
    ended = wait_until_ended(client, batch.id)
    assert (ended.request_counts.succeeded, ended.request_counts.errored) == (49, 1)
    assert ended.results_url.startswith(BASE_URL)
    results = list(client.messages.batches.results(batch.id))
    assert [result.custom_id for result in results] == [item["custom_id"] for item in requests]
    for place, result in enumerate(results):
        if place == 7:
            assert result.result.type == "errored"
            assert result.result.error.error.type == "invalid_request_error"
            assert "No such model" in result.result.error.error.message
        else:
            assert result.result.type == "succeeded"
            message = result.result.message
            assert message.content[0].type == "text"
            assert message.stop_reason == "end_turn"
            assert message.usage.service_tier == "batch"


def test_blocks_and_accepted_extras(client):
    extras = {
        "system": [{"type": "text", "text": "Be short."}],
        "metadata": {"user_id": "u-1"},
        "stop_sequences": ["END"],
    }
    batch = client.messages.batches.create(requests=[request("a", [{"type": "text", "text": "hi"}], **extras)])
    wait_until_ended(client, batch.id)
    (result,) = client.messages.batches.results(batch.id)
    assert result.result.type == "succeeded", result


def test_list_and_delete(client):
    batch = client.messages.batches.create(requests=[request("a", "hi")])
    assert batch.id in [listed.id for listed in client.messages.batches.list(limit=5)]
    wait_until_ended(client, batch.id)
    deleted = client.messages.batches.delete(batch.id)
    assert (deleted.id, deleted.type) == (batch.id, "message_batch_deleted")
    with pytest.raises(anthropic.NotFoundError):
        client.messages.batches.retrieve(batch.id)


def test_cancel(client):
    batch = client.messages.batches.create(requests=[request(str(number), "hi") for number in range(20)])
    cancelled = client.messages.batches.cancel(batch.id)
    assert cancelled.processing_status in ("canceling", "ended")
    ended = wait_until_ended(client, batch.id)
    counts = ended.request_counts
    assert counts.succeeded + counts.canceled == 20
    assert len(list(client.messages.batches.results(batch.id))) == 20


def test_beta_and_models(client):
    batch = client.beta.messages.batches.create(requests=[request("a", "hi")])
    assert client.beta.messages.batches.retrieve(batch.id).id == batch.id
    assert "svc-mock" in [model.id for model in client.models.list()]


def test_errors_are_the_errors_of_the_client(client):
    with pytest.raises(anthropic.BadRequestError) as refused:
        client.messages.batches.create(requests=[request("not valid", "hi")])
    assert refused.value.request_id
    with pytest.raises(anthropic.AuthenticationError):
        anthropic.Anthropic(base_url=BASE_URL, api_key="svc_sk_" + "0" * 32).messages.batches.list()
    bearer = anthropic.Anthropic(base_url=BASE_URL, auth_token=API_KEY, api_key=None)
    bearer.messages.batches.list()
