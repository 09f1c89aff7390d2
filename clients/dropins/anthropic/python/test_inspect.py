"""inspect_ai with batching on, and another base URL for its Anthropic models."""

import asyncio

from inspect_ai.model import GenerateConfig, get_model
from inspect_ai.model._generate_config import BatchConfig

from conftest import API_KEY, BASE_URL


async def generate_all(texts):
    config = GenerateConfig(max_tokens=64, batch=BatchConfig(size=len(texts), send_delay=1, tick=0.5))
    model = get_model("anthropic/svc-mock", base_url=BASE_URL, api_key=API_KEY, config=config, memoize=False)
    return await asyncio.gather(*(model.generate(text) for text in texts))


def test_generations_are_batched():
    outputs = asyncio.run(generate_all(["one", "two", "three"]))
    assert len(outputs) == 3
    for output in outputs:
        assert output.error is None
        assert output.completion
