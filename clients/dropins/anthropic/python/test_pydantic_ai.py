"""Pydantic AI's batch methods, with a provider that has another base URL."""

import asyncio

from pydantic_ai.messages import ModelRequest, UserPromptPart
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.batch import BatchRequest
from pydantic_ai.providers.anthropic import AnthropicProvider

from conftest import API_KEY, BASE_URL, DEADLINE_SECONDS


async def run_batch():
    provider = AnthropicProvider(api_key=API_KEY, base_url=BASE_URL)
    model = AnthropicModel("svc-mock", provider=provider)
    requests = {
        name: BatchRequest(
            custom_id=name,
            messages=[ModelRequest(parts=[UserPromptPart(content=f"Say {name}.")])],
            model_settings={"max_tokens": 64},
        )
        for name in ("one", "two", "three")
    }
    encoded = [await model.batch_encode(request) for request in requests.values()]
    batch = await model.batch_create(encoded)
    async with asyncio.timeout(DEADLINE_SECONDS):
        while batch.status != "ended":
            await asyncio.sleep(0.5)
            batch = await model.batch_status(batch)
    results = await model.batch_results(batch)
    return {result.custom_id: model.batch_decode(result, requests[result.custom_id]) for result in results}


def test_a_batch_of_model_requests():
    responses = asyncio.run(run_batch())
    assert set(responses) == {"one", "two", "three"}
    for response in responses.values():
        assert response.parts
        assert response.usage.output_tokens > 0
