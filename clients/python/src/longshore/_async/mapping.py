"""`map`: a request for each row of an iterable, loaded in bulks as a group."""

import secrets
import sys
import threading
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator
from contextlib import aclosing
from typing import Generic, TypeVar

from longshore._async.groups import AsyncGroups
from longshore._async.transport import AsyncTransport
from longshore._concurrency import AsyncBackground, AsyncSignal, async_sleep
from longshore._error_base import ApiError, NoAnswer
from longshore._estimates import CostLimit, Estimate
from longshore._mapped import (
    MapOptions,
    MappedRow,
    RowLoad,
    bulk_body,
    in_bulks,
    is_refused_for_now,
    mapped_row,
    refusal,
    row_load,
)
from longshore._progress import MapProgress, ProgressBar, map_reporter
from longshore._requests import ApiRequest, is_passing
from longshore._spool import Spool
from longshore.types import BulkLoad, RefusedItem, requests

Row = TypeVar("Row")
MAX_PARALLEL_BULKS = 4
RESULT_WAIT_SECONDS = 20
RETRY_DELAY = 1.0


class AsyncMapping(Generic[Row]):
    """One call of `map`. The caller's task reads the rows; bulks and results run beside it."""

    def __init__(
        self,
        transport: AsyncTransport,
        groups: AsyncGroups,
        rows: Iterable[Row],
        request: Callable[[Row], requests.Params],
        options: MapOptions[Row],
    ) -> None:
        self._transport = transport
        self._groups = groups
        self._rows = rows
        self._request = request
        self._options = options
        self._cost_limit = CostLimit(options.max_cost)
        self._name = options.name or f"map-{secrets.token_hex(8)}"
        self._group_id = ""
        self._spool = Spool()
        self._background = AsyncBackground()
        self._signal = AsyncSignal()
        self._lock = threading.Lock()
        self._read = self._loaded = self._active = self._done = self._failed = 0
        self._is_exhausted = self._is_sealed = self._is_stopping = False

    async def run(self) -> AsyncGenerator[MappedRow[Row]]:
        if self._options.name is None:
            print(f"longshore: to resume this map, pass name={self._name!r}", file=sys.stderr)
        self._group_id = (await self._groups.create(self._name)).group_id
        bulks = in_bulks(self._loads())
        shown = ProgressBar()
        report = map_reporter(self._options.progress, shown)
        self._background.start(self._read_results)
        try:
            while True:
                self._signal.clear()
                await self._start_bulks(bulks)
                item = self._spool.take(self._done if self._options.order == "input" else None)
                if item is not None:
                    row: MappedRow[Row] = mapped_row(item)
                    self._done += 1
                    self._failed += row.error is not None
                    report(self._progress())
                    if row.error is not None and self._options.on_error == "raise":
                        raise row.error
                    yield row
                elif self._background.error is not None:
                    raise self._background.error
                elif self._is_sealed and self._done == self._read:
                    return
                else:
                    report(self._progress())
                    await self._signal.wait(RETRY_DELAY)
        finally:
            self._is_stopping = True
            shown.end()
            await self._background.stop()

    def _progress(self) -> MapProgress:
        return MapProgress(self._loaded, self._done, self._failed, self._read if self._is_exhausted else None)

    def _loads(self) -> Iterator[RowLoad]:
        for row in self._rows:
            custom_id = self._options.key(row) if self._options.key else None
            load = row_load(self._read, custom_id, self._group_id, self._request(row))
            self._spool.add_row(self._read, load.custom_id, row)
            self._read += 1
            yield load
        self._is_exhausted = True

    async def _start_bulks(self, bulks: Iterator[list[RowLoad]]) -> None:
        while self._active < MAX_PARALLEL_BULKS and not self._is_exhausted:
            bulk = next(bulks, None)
            if bulk is None:
                break
            await self._check_cost(bulk)
            with self._lock:
                self._active += 1
            self._background.start(self._load, bulk)
        has_failed = self._background.error is not None
        if self._is_exhausted and self._active == 0 and not self._is_sealed and not has_failed:
            await self._groups.seal(self._group_id)
            self._is_sealed = True

    async def _check_cost(self, bulk: list[RowLoad]) -> None:
        if self._cost_limit.is_set:
            request = self._bulk_request("/cargo/estimate", bulk)
            self._cost_limit.add(await self._transport.call(request, Estimate, retry_for=None))

    async def _load(self, bulk: list[RowLoad]) -> None:
        try:
            while bulk and not self._is_stopping:
                request = self._bulk_request("/cargo/bulk", bulk)
                answer = await self._transport.call(request, BulkLoad, retry_for=None)
                refused = [each for each in answer.results if isinstance(each, RefusedItem)]
                again = [each for each in refused if is_refused_for_now(each)]
                for each in refused:
                    if each not in again:
                        self._spool.add_result(bulk[each.index].custom_id, refusal(each))
                with self._lock:
                    self._loaded += answer.accepted
                bulk = [bulk[each.index] for each in again]
                if again:
                    await async_sleep(max(each.retry_after_seconds or RETRY_DELAY for each in again))
        finally:
            with self._lock:
                self._active -= 1
            self._signal.set()

    def _bulk_request(self, path: str, bulk: list[RowLoad]) -> ApiRequest:
        # The custom ids make a repeat safe.
        return ApiRequest(method="POST", path=path, body=bulk_body(bulk), is_idempotent=True)

    async def _read_results(self) -> None:
        after = 0
        while not self._is_stopping:
            results = self._groups.results(
                self._group_id, order="completion", after=after, wait=RESULT_WAIT_SECONDS
            )
            before = after
            try:
                async with aclosing(results):
                    async for result in results:
                        after = result.number
                        self._spool.add_result(result.custom_id, result.model_dump_json().encode())
                        self._signal.set()
                        if self._is_stopping:
                            return
            except (ApiError, NoAnswer) as error:
                if not is_passing(error):
                    self._signal.set()
                    raise
            if after == before:
                await async_sleep(RETRY_DELAY)
