"""A batch from creation to results with Google's Python client, inline and with files."""

import json

import pytest
from conftest import expected, poll
from google import genai
from google.genai import errors, types

ENDED = {"JOB_STATE_SUCCEEDED", "JOB_STATE_FAILED", "JOB_STATE_CANCELLED", "JOB_STATE_EXPIRED"}


@pytest.fixture
def client(gemini_account):
    options = types.HttpOptions(base_url=gemini_account.url())
    return genai.Client(api_key=gemini_account.key, http_options=options)


def ended(client, job):
    return poll(lambda: client.batches.get(name=job.name), lambda it: it.state.name in ENDED)


def inline(text):
    return {"contents": [{"role": "user", "parts": [{"text": text}]}]}


def test_requests_in_the_call_are_answered_in_the_operation(client):
    job = client.batches.create(
        model="gemini-sim", src=[inline("hello"), inline("[[blocked]]")], config={"display_name": "s-1"}
    )
    assert job.state.name == "JOB_STATE_PENDING"
    done = ended(client, job)
    assert done.state.name == "JOB_STATE_SUCCEEDED"
    assert done.display_name == "s-1"
    first, second = done.dest.inlined_responses
    assert first.response.text == expected("hello")
    assert first.response.usage_metadata.candidates_token_count == 2
    assert second.response.prompt_feedback.block_reason.name == "SAFETY"


def test_a_file_is_uploaded_run_and_downloaded(client, tmp_path):
    path = tmp_path / "in.jsonl"
    texts = {f"k{index}": f"text {index}" for index in range(50)}
    path.write_text("".join(json.dumps({"key": key, "request": inline(text)}) + "\n" for key, text in texts.items()))
    file = client.files.upload(file=path, config=types.UploadFileConfig(display_name="in", mime_type="jsonl"))
    assert file.state.name == "ACTIVE"
    assert client.files.get(name=file.name).size_bytes == path.stat().st_size
    job = client.batches.create(model="gemini-sim", src=file.name, config={"display_name": "s-2"})
    done = ended(client, job)
    lines = client.files.download(file=done.dest.file_name).decode().splitlines()
    reply = {}
    for line in map(json.loads, lines):
        reply[line["key"]] = line["response"]["candidates"][0]["content"]["parts"][0]["text"]
    assert reply == {key: expected(text) for key, text in texts.items()}


def test_a_batch_is_cancelled_listed_and_deleted(client, gemini_account):
    gemini_account.pace(running_ms=3_600_000)
    job = client.batches.create(model="gemini-sim", src=[inline("hello")])
    client.batches.cancel(name=job.name)
    assert ended(client, job).state.name == "JOB_STATE_CANCELLED"
    assert [it.name for it in client.batches.list()] == [job.name]
    client.batches.delete(name=job.name)
    assert list(client.batches.list()) == []


def test_embeddings_are_batched(client):
    job = client.batches.create_embeddings(
        model="embed-sim", src={"inlined_requests": {"contents": [{"parts": [{"text": "one"}]}]}}
    )
    done = ended(client, job)
    values = done.dest.inlined_embed_content_responses[0].response.embedding.values
    assert len(values) == 8


def test_refusals_become_the_clients_own_errors(client, gemini_account):
    gemini_account.faults({"name": "create_429", "times": 1, "seconds": 34})
    with pytest.raises(errors.ClientError) as caught:
        client.batches.create(model="gemini-sim", src=[inline("x")])
    assert caught.value.code == 429
    assert caught.value.status == "RESOURCE_EXHAUSTED"


def test_content_is_answered_at_once(client):
    reply = client.models.generate_content(model="gemini-sim", contents="hello")
    assert reply.text == expected("hello")
