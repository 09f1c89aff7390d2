"""A client whose requests a function answers, in place of a server."""

import asyncio
from collections.abc import Callable

import httpx2
import pytest

from longshore import AsyncLongshore, Longshore

Handler = Callable[[httpx2.Request], httpx2.Response]
KEY = "svc_sk_" + "k" * 32


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch):
    """Retries do not wait. The test can read how long they would have waited."""
    waited = []

    async def async_sleep(seconds):
        waited.append(seconds)
        await asyncio.sleep(0)

    for module in ("transport", "groups", "mapping", "uploads", "waiter"):
        monkeypatch.setattr(f"longshore._sync.{module}.sleep", waited.append)
        monkeypatch.setattr(f"longshore._async.{module}.async_sleep", async_sleep)
    return waited


@pytest.fixture(autouse=True)
def own_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def client():
    def make(handler: Handler, **options) -> Longshore:
        http = httpx2.Client(transport=httpx2.MockTransport(handler))
        return Longshore(KEY, "http://server", http_client=http, **options)

    return make


@pytest.fixture
def async_client():
    def make(handler: Handler, **options) -> AsyncLongshore:
        http = httpx2.AsyncClient(transport=httpx2.MockTransport(handler))
        return AsyncLongshore(KEY, "http://server", http_client=http, **options)

    return make
