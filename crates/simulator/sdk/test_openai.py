"""A batch from creation to results with OpenAI's Python client."""

import json

import openai
import pytest
from conftest import expected, poll

ENDED = {"completed", "failed", "expired", "cancelled"}


@pytest.fixture
def client(openai_account):
    return openai.OpenAI(api_key=openai_account.key, base_url=openai_account.url("/v1"), max_retries=0)


def lines(texts):
    for index, text in enumerate(texts):
        body = {"model": "gpt-sim", "messages": [{"role": "user", "content": text}]}
        line = {"custom_id": f"a{index}", "method": "POST", "url": "/v1/chat/completions", "body": body}
        yield json.dumps(line)


def create(client, texts):
    content = "\n".join(lines(texts)).encode()
    file = client.files.create(file=("in.jsonl", content), purpose="batch")
    return client.batches.create(
        input_file_id=file.id,
        endpoint="/v1/chat/completions",
        completion_window="24h",
        metadata={"submission_id": "s-1"},
    )


def test_a_batch_is_uploaded_created_polled_and_read(client):
    batch = create(client, ["hello", "world", "[[fail 400]]"])
    assert batch.status == "validating"
    done = poll(lambda: client.batches.retrieve(batch.id), lambda it: it.status in ENDED)
    assert done.status == "completed"
    assert (done.request_counts.completed, done.request_counts.failed) == (2, 1)
    answers = [json.loads(line) for line in client.files.content(done.output_file_id).text.splitlines()]
    reply = {it["custom_id"]: it["response"]["body"]["choices"][0]["message"]["content"] for it in answers}
    assert reply == {"a0": expected("hello"), "a1": expected("world")}
    errors = [json.loads(line) for line in client.files.content(done.error_file_id).text.splitlines()]
    assert errors[0]["response"]["status_code"] == 400
    assert client.files.retrieve(done.output_file_id).purpose == "batch_output"


def test_a_batch_is_cancelled(client, openai_account):
    openai_account.pace(running_ms=3_600_000)
    batch = create(client, ["hello"])
    assert client.batches.cancel(batch.id).status == "cancelling"
    done = poll(lambda: client.batches.retrieve(batch.id), lambda it: it.status in ENDED)
    assert done.status == "cancelled"


def test_batches_and_files_are_listed_over_pages(client):
    made = [create(client, ["x"]).id for _ in range(3)]
    assert [it.id for it in client.batches.list(limit=2)] == made[::-1]
    files = [it.id for it in client.files.list(purpose="batch", limit=2)]
    assert len(files) == 3
    assert client.files.delete(files[0]).deleted


def test_refusals_become_the_clients_own_errors(client, openai_account):
    openai_account.faults({"name": "create_429", "times": 1, "seconds": 3})
    with pytest.raises(openai.RateLimitError) as caught:
        create(client, ["x"])
    assert caught.value.response.headers["retry-after"] == "3"
    openai_account.faults({"name": "create_drop_after", "times": 1})
    with pytest.raises(openai.APIConnectionError):
        create(client, ["x"])
    openai_account.faults({"name": "unauthorized", "times": 1})
    with pytest.raises(openai.AuthenticationError):
        client.batches.list()
    assert [it.metadata["submission_id"] for it in client.batches.list()] == ["s-1"]


def test_answers_at_once(client):
    reply = client.chat.completions.create(model="gpt-sim", messages=[{"role": "user", "content": "hello"}])
    assert reply.choices[0].message.content == expected("hello")
    assert reply.usage.completion_tokens == 2
    vectors = client.embeddings.create(model="embed-sim", input=["one", "two"])
    plain = client.embeddings.create(model="embed-sim", input=["one", "two"], encoding_format="float")
    assert vectors.data[1].embedding == plain.data[1].embedding
    assert len(vectors.data[1].embedding) == 8
