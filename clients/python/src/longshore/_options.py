"""The options of a client."""

import os
from dataclasses import dataclass, field

import httpx2

from longshore._error_base import LongshoreError
from longshore._version import __version__

DEFAULT_BASE_URL = "http://127.0.0.1:8080"
DEFAULT_RETRY_SECONDS = 120.0
# In place of seconds: as the options of the client say.
INHERITED = -1.0
USER_AGENT = f"longshore-python/{__version__}"
# A wait is up to 60 seconds, and the answer comes after it.
DEFAULT_TIMEOUT = httpx2.Timeout(90.0, connect=10.0)


@dataclass(frozen=True)
class ClientOptions:
    """How a client calls the API. The key is not shown."""

    api_key: str = field(repr=False)
    base_url: str
    timeout: httpx2.Timeout
    retry_for: float | None
    """How long a call is retried, in seconds. None: without end."""

    @property
    def headers(self) -> dict[str, str]:
        return {"X-API-Key": self.api_key, "User-Agent": USER_AGENT, "Accept": "application/json"}


def read_options(
    api_key: str | None, base_url: str | None, timeout: httpx2.Timeout | float | None, retry_for: float | None
) -> ClientOptions:
    """Takes what is missing from the environment."""
    api_key = api_key or os.environ.get("LONGSHORE_API_KEY")
    if not api_key:
        raise LongshoreError("there is no API key: set LONGSHORE_API_KEY, or pass api_key")
    base_url = base_url or os.environ.get("LONGSHORE_BASE_URL") or DEFAULT_BASE_URL
    timeout = DEFAULT_TIMEOUT if timeout is None else httpx2.Timeout(timeout)
    return ClientOptions(api_key.strip(), base_url.rstrip("/"), timeout, retry_for)
