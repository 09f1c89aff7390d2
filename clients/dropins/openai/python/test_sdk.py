"""OpenAI's own Python client, unchanged, with another base URL."""

import openai
import pytest
from openai.types.chat import ChatCompletion
from openai.types.responses import Response

from conftest import BASE_URL, as_file, chat, create, line, read_lines, wait_until_ended


def test_fifty_requests_with_one_failure(client):
    lines = [chat(f"item-{number}", f"text {number}") for number in range(49)]
    lines.insert(7, chat("broken", "x", model="no-such-model"))
    batch = create(client, lines, metadata={"run": "7"})
    assert batch.id.startswith("batch_")
    assert batch.status == "validating"
    ended = wait_until_ended(client, batch.id)
    assert ended.status == "completed"
    assert ended.metadata == {"run": "7"}
    counts = ended.request_counts
    assert (counts.total, counts.completed, counts.failed) == (50, 49, 1)
    output = read_lines(client, ended.output_file_id)
    assert [it["custom_id"] for it in output] == [f"item-{number}" for number in range(49)]
    for item in output:
        assert item["error"] is None
        assert item["response"]["status_code"] == 200
        answer = ChatCompletion.model_validate(item["response"]["body"])
        assert answer.choices[0].finish_reason == "stop"
        assert answer.choices[0].message.content
        assert answer.usage.total_tokens == answer.usage.prompt_tokens + answer.usage.completion_tokens
    (failure,) = read_lines(client, ended.error_file_id)
    assert failure["custom_id"] == "broken"
    assert failure["response"]["status_code"] == 400
    assert "No such model" in failure["response"]["body"]["error"]["message"]
    assert client.files.retrieve(ended.output_file_id).purpose == "batch_output"


def test_responses_answer_as_their_client_reads_them(client):
    body = {"model": "svc-mock", "input": [{"role": "user", "content": [{"type": "input_text", "text": "hi"}]}]}
    batch = create(client, [line("a", body, "/v1/responses")], endpoint="/v1/responses")
    ended = wait_until_ended(client, batch.id)
    (item,) = read_lines(client, ended.output_file_id)
    answer = Response.model_validate(item["response"]["body"])
    assert answer.status == "completed"
    assert answer.output_text
    assert answer.usage.total_tokens > 0


def test_embeddings_of_a_model_that_is_not_there_fail_alone(client):
    lines = [line("a", {"model": "no-such-model", "input": ["one", "two"]}, "/v1/embeddings")]
    batch = create(client, lines, endpoint="/v1/embeddings")
    ended = wait_until_ended(client, batch.id)
    assert (ended.status, ended.output_file_id) == ("completed", None)
    (item,) = read_lines(client, ended.error_file_id)
    assert item["response"]["status_code"] == 400


def test_a_file_is_given_back_listed_and_deleted(client):
    name, content = as_file([chat("a", "hi")])
    file = client.files.create(
        file=(name, content), purpose="batch", expires_after={"anchor": "created_at", "seconds": 3600}
    )
    assert client.files.wait_for_processing(file.id).status == "processed"
    assert file.expires_at == file.created_at + 3600
    assert client.files.content(file.id).content == content
    assert file.id in [listed.id for listed in client.files.list(purpose="batch", limit=2)]
    assert client.files.delete(file.id).deleted
    with pytest.raises(openai.NotFoundError):
        client.files.retrieve(file.id)


def test_cancel_and_list(client):
    batch = create(client, [chat(str(number), "hi") for number in range(20)])
    cancelled = client.batches.cancel(batch.id)
    assert cancelled.cancelling_at
    ended = wait_until_ended(client, batch.id)
    assert ended.status == "cancelled"
    files = [name for name in (ended.output_file_id, ended.error_file_id) if name]
    assert sum(len(read_lines(client, name)) for name in files) == 20
    assert batch.id in [listed.id for listed in client.batches.list(limit=5)]
    with pytest.raises(openai.ConflictError):
        client.batches.cancel(batch.id)


def test_a_wrong_file_fails(client):
    batch = create(client, [chat("a", "hi"), chat("a", "hi")])
    failed = wait_until_ended(client, batch.id)
    assert failed.status == "failed"
    (error,) = failed.errors.data
    assert (error.code, error.line) == ("duplicate_custom_id", 2)


def test_errors_are_the_errors_of_the_client(client):
    with pytest.raises(openai.BadRequestError) as refused:
        client.files.create(file=as_file([]), purpose="assistants")
    assert refused.value.param == "purpose"
    with pytest.raises(openai.BadRequestError):
        client.batches.create(
            input_file_id="file-0", endpoint="/v1/chat/completions", completion_window="24h"
        )
    with pytest.raises(openai.AuthenticationError):
        openai.OpenAI(base_url=BASE_URL, api_key="svc_sk_" + "0" * 32).batches.list()
    with pytest.raises(openai.NotFoundError):
        client.chat.completions.create(model="svc-mock", messages=[{"role": "user", "content": "hi"}])


def test_models(client):
    assert "svc-mock" in [model.id for model in client.models.list()]
    assert client.models.retrieve("svc-mock").object == "model"
