"""LiteLLM, unchanged, as a client of OpenAI's format with another base URL."""

import json

import litellm

from conftest import API_KEY, BASE_URL, ENDED, chat, read_lines, wait_until_ended

PROVIDER = {"custom_llm_provider": "openai", "api_base": BASE_URL, "api_key": API_KEY}


def test_files_and_batches(client, tmp_path):
    lines = [chat(f"item-{number}", f"text {number}") for number in range(5)]
    path = tmp_path / "batch.jsonl"
    path.write_text("\n".join(json.dumps(item) for item in lines))
    with path.open("rb") as content:
        file = litellm.create_file(file=content, purpose="batch", **PROVIDER)
    batch = litellm.create_batch(
        completion_window="24h", endpoint="/v1/chat/completions", input_file_id=file.id, **PROVIDER
    )
    wait_until_ended(client, batch.id)
    ended = litellm.retrieve_batch(batch_id=batch.id, **PROVIDER)
    assert ended.status in ENDED
    assert ended.request_counts.completed == 5
    content = litellm.file_content(file_id=ended.output_file_id, **PROVIDER)
    output = [json.loads(text) for text in content.text.splitlines()]
    assert output == read_lines(client, ended.output_file_id)
    assert [it["custom_id"] for it in output] == [item["custom_id"] for item in lines]
