# Generated from _async by `python -m generate`. Do not edit.
"""Sends requests, and sends them again when that is safe and can help."""

import random
import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import TypeVar

import httpx2

from longshore._concurrency import sleep
from longshore._error_base import ApiError, NoAnswer
from longshore._options import INHERITED, ClientOptions
from longshore._requests import ApiRequest, connection_error, response_error
from longshore._retry import decide_retry
from longshore.types._base import Response

R = TypeVar("R", bound=Response)


class Transport:
    """The connection to the API. `retry_for` bounds the time of one call with its retries."""

    def __init__(self, options: ClientOptions, http: httpx2.Client) -> None:
        self.options = options
        self.http = http

    def call(self, request: ApiRequest, kind: type[R], *, retry_for: float | None = INHERITED) -> R:
        response = self.send(request, retry_for=retry_for)
        return kind.model_validate_json(response.content)

    def send(self, request: ApiRequest, *, retry_for: float | None = INHERITED) -> httpx2.Response:
        """The response. Without `retry_for` the option of the client holds; None is without end."""
        budget = self.options.retry_for if retry_for == INHERITED else retry_for
        began = time.monotonic()
        attempt = 0
        while True:
            try:
                return self._send_once(request)
            except (ApiError, NoAnswer) as error:
                wait = decide_retry(request.failure(attempt, error))
                seconds = random.uniform(wait.shortest, wait.longest) if wait else 0.0
                is_over = budget is not None and time.monotonic() - began + seconds > budget
                if wait is None or is_over:
                    raise
            sleep(seconds)
            attempt += 1

    @contextmanager
    def stream(self, request: ApiRequest) -> Generator[httpx2.Response]:
        """An open response. It is not retried: its reader knows where to continue."""
        try:
            response = self.http.send(self._build(request), stream=True, follow_redirects=False)
        except httpx2.TransportError as error:
            raise connection_error(error) from error
        try:
            if not response.is_success:
                response.read()
                raise response_error(response)
            yield response
        except httpx2.TransportError as error:
            raise connection_error(error) from error
        finally:
            response.close()

    def _send_once(self, request: ApiRequest) -> httpx2.Response:
        try:
            # Not even by a client of the caller: a redirect would send the key to another address.
            response = self.http.send(self._build(request), follow_redirects=False)
        except httpx2.TransportError as error:
            raise connection_error(error) from error
        if not response.is_success:
            raise response_error(response)
        return response

    def _build(self, request: ApiRequest) -> httpx2.Request:
        return self.http.build_request(
            request.method,
            self.options.base_url + request.path,
            params=list(request.query),
            content=request.body,
            headers=self.options.headers | request.all_headers(),
            timeout=self.options.timeout,
        )
