"""A request that can be repeated byte for byte, and what its failure means."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

import httpx2

from longshore import _json
from longshore._error_base import ApiError, NoAnswer, NotConnected, TimedOut
from longshore._retry import Failure, rule_of
from longshore.errors import api_error, read_detail

JSON = "application/json"
# The request did not leave this process.
UNSENT_ERRORS = (
    httpx2.ConnectError,
    httpx2.ConnectTimeout,
    httpx2.PoolTimeout,
    httpx2.ProxyError,
    httpx2.UnsupportedProtocol,
)
QueryValue = str | int | bool | datetime | Sequence[str] | None


@dataclass(frozen=True, kw_only=True)
class ApiRequest:
    """Every attempt sends the same bytes and the same key."""

    method: str
    path: str
    query: tuple[tuple[str, str], ...] = ()
    body: bytes | None = None
    content_type: str = JSON
    idempotency_key: str | None = None
    is_idempotent: bool = False
    """Whether a repeat has no further effect, by the nature of the route or by keys in the body."""
    headers: Mapping[str, str] = field(default_factory=dict[str, str])

    def all_headers(self) -> dict[str, str]:
        headers = dict(self.headers)
        if self.body is not None:
            headers["Content-Type"] = self.content_type
        if self.idempotency_key is not None:
            headers["Idempotency-Key"] = self.idempotency_key
        return headers

    def failure(self, attempt: int, error: Exception) -> Failure:
        failure = Failure(
            method=self.method,
            idempotency_key=self.idempotency_key is not None,
            idempotent=self.is_idempotent,
            body_sent=True,
            status=0,
            attempt=attempt,
        )
        if isinstance(error, ApiError):
            return replace(
                failure,
                status=error.status,
                code=error.code,
                retry_after=error.retry_after,
                should_retry=error.should_retry,
            )
        return replace(failure, body_sent=not isinstance(error, NoAnswer) or error.maybe_accepted)


def get(path: str, **query: QueryValue) -> ApiRequest:
    return ApiRequest(method="GET", path=path, query=query_pairs(query))


def post(path: str, body: Any, *, key: str | None = None, is_idempotent: bool = False) -> ApiRequest:
    return ApiRequest(
        method="POST", path=path, body=_json.to_bytes(body), idempotency_key=key, is_idempotent=is_idempotent
    )


def query_pairs(query: Mapping[str, QueryValue]) -> tuple[tuple[str, str], ...]:
    pairs: list[tuple[str, str]] = []
    for name, value in query.items():
        values = [value] if isinstance(value, str) or not isinstance(value, Sequence) else value
        pairs += [(name, query_text(each)) for each in values if each is not None]
    return tuple(pairs)


def query_text(value: str | int | bool | datetime) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime):
        if value.tzinfo is None:
            raise ValueError("a time needs a time zone, such as datetime.now(timezone.utc)")
        return value.isoformat()
    return str(value)


def connection_error(error: httpx2.TransportError) -> NoAnswer:
    kind = TimedOut if isinstance(error, httpx2.TimeoutException) else NotConnected
    text = str(error) or type(error).__name__
    return kind(text, maybe_accepted=not isinstance(error, UNSENT_ERRORS))


def response_error(response: httpx2.Response) -> ApiError:
    """The error of a response whose body was read."""
    headers = response.headers
    error = api_error(
        response.status_code,
        read_detail(response.content),
        request_id=headers.get("x-request-id"),
        retry_after=retry_after(headers),
    )
    if (should_retry := headers.get("x-should-retry")) is not None:
        error.should_retry = should_retry == "true"
    return error


def retry_after(headers: httpx2.Headers) -> float | None:
    """Seconds. A date, which our servers never send, is ignored."""
    text = headers.get("retry-after", "")
    return float(text) if text.isdigit() else None


def is_passing(error: ApiError | NoAnswer) -> bool:
    """Whether a later request may succeed."""
    return isinstance(error, NoAnswer) or rule_of(error.status, error.code) != "no"
