"""A batch from creation to results with Anthropic's Python client."""

import anthropic
import pytest
from conftest import expected, poll


@pytest.fixture
def client(anthropic_account):
    return anthropic.Anthropic(api_key=anthropic_account.key, base_url=anthropic_account.url(), max_retries=0)


def create(client, texts):
    return client.messages.batches.create(
        requests=[
            {
                "custom_id": f"a{index}",
                "params": {
                    "model": "claude-sim",
                    "max_tokens": 50,
                    "messages": [{"role": "user", "content": text}],
                },
            }
            for index, text in enumerate(texts)
        ]
    )


def ended(client, batch):
    return poll(lambda: client.messages.batches.retrieve(batch.id), lambda it: it.processing_status == "ended")


def test_a_batch_is_created_polled_and_read(client):
    batch = create(client, ["hello", "[[fail 500]]"])
    assert batch.processing_status == "in_progress"
    assert batch.request_counts.processing == 2
    done = ended(client, batch)
    assert (done.request_counts.succeeded, done.request_counts.errored) == (1, 1)
    results = {it.custom_id: it.result for it in client.messages.batches.results(batch.id)}
    assert results["a0"].type == "succeeded"
    assert results["a0"].message.content[0].text == expected("hello")
    assert results["a0"].message.usage.output_tokens == 2
    assert results["a1"].type == "errored"
    assert results["a1"].error.error.type == "api_error"


def test_a_batch_is_cancelled_and_deleted(client, anthropic_account):
    anthropic_account.pace(running_ms=3_600_000)
    batch = create(client, ["hello"])
    assert client.messages.batches.cancel(batch.id).processing_status == "canceling"
    done = ended(client, batch)
    assert done.request_counts.canceled == 1
    assert [it.result.type for it in client.messages.batches.results(batch.id)] == ["canceled"]
    assert client.messages.batches.delete(batch.id).type == "message_batch_deleted"


def test_batches_are_listed_over_pages(client):
    made = [create(client, ["x"]).id for _ in range(3)]
    assert [it.id for it in client.messages.batches.list(limit=2)] == made[::-1]


def test_refusals_become_the_clients_own_errors(client, anthropic_account):
    anthropic_account.faults({"name": "create_529", "times": 1})
    with pytest.raises(anthropic.APIStatusError) as caught:
        create(client, ["x"])
    assert caught.value.status_code == 529
    anthropic_account.faults({"name": "create_413_html", "times": 1})
    with pytest.raises(anthropic.APIStatusError) as caught:
        create(client, ["x"])
    assert caught.value.status_code == 413


def test_a_file_is_uploaded_and_a_message_answered_at_once(client):
    file = client.beta.files.upload(file=("a.txt", b"hello", "text/plain"))
    assert file.size_bytes == 5
    reply = client.messages.create(
        model="claude-sim", max_tokens=50, messages=[{"role": "user", "content": "hello"}]
    )
    assert reply.content[0].text == expected("hello")
