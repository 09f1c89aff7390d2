# Generated from _async by `python -m generate`. Do not edit.
"""The client of the API."""

from types import TracebackType
from typing import Self

import httpx2

from longshore._sync.cargo import Cargo
from longshore._sync.files import Files
from longshore._sync.groups import Groups
from longshore._sync.transport import Transport
from longshore._options import DEFAULT_RETRY_SECONDS, INHERITED, ClientOptions, read_options
from longshore._requests import get
from longshore.types import Model, ModelList, WhoAmI


class Models:
    """`client.models`."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(self) -> "list[Model]":
        """The models that the key may load, with what they can do and what they cost."""
        return (self._transport.call(get("/models"), ModelList)).models


class Longshore:
    """A client. Create one and share it: it keeps its connections.

    Without `api_key` and `base_url` it reads LONGSHORE_API_KEY and LONGSHORE_BASE_URL. A call is retried for
    `retry_for` seconds, where that is safe; None means without end.
    """

    def __init__(
        self,
        api_key: str | None = None,
        base_url: str | None = None,
        *,
        timeout: httpx2.Timeout | float | None = None,
        retry_for: float | None = DEFAULT_RETRY_SECONDS,
        http_client: httpx2.Client | None = None,
    ) -> None:
        self._owns_http = http_client is None
        self._use(read_options(api_key, base_url, timeout, retry_for), http_client or httpx2.Client())

    def _use(self, options: ClientOptions, http: httpx2.Client) -> None:
        self._options = options
        self._transport = Transport(options, http)
        self.groups = Groups(self._transport)
        self.cargo = Cargo(self._transport, self.groups)
        self.files = Files(self._transport)
        self.models = Models(self._transport)

    def whoami(self) -> WhoAmI:
        """The key, its project and organization, and what they may use."""
        return self._transport.call(get("/whoami"), WhoAmI)

    def with_options(
        self, *, timeout: httpx2.Timeout | float | None = None, retry_for: float | None = INHERITED
    ) -> Self:
        """A client with other options and the same connections."""
        options = self._options
        return type(self)(
            options.api_key,
            options.base_url,
            timeout=timeout or options.timeout,
            retry_for=options.retry_for if retry_for == INHERITED else retry_for,
            http_client=self._transport.http,
        )

    def close(self) -> None:
        """Closes the connections, unless you passed `http_client`."""
        if self._owns_http:
            self._transport.http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}(base_url={self._options.base_url!r})"
