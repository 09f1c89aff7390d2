"""Cargo: load, track, list, cancel, run, map."""

import secrets
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from datetime import datetime
from typing import Any, Literal, TypeVar

from longshore._answers import Answer, to_answer
from longshore._async.groups import AsyncGroups
from longshore._async.mapping import AsyncMapping
from longshore._async.transport import AsyncTransport
from longshore._async.waiter import AsyncCargoWaiter
from longshore._estimates import Estimate
from longshore._json import without_none
from longshore._mapped import MappedRow, MapOptions
from longshore._progress import MapProgress
from longshore._requests import get, post
from longshore.types import (
    BulkLoad,
    CallbackAttempts,
    CancelAnswer,
    CargoList,
    CargoSummary,
    CargoWaitResult,
    Loaded,
    Resend,
    Tracking,
    requests,
)

Row = TypeVar("Row")


class AsyncCargo:
    """`client.cargo`."""

    def __init__(self, transport: AsyncTransport, groups: AsyncGroups) -> None:
        self._transport = transport
        self._groups = groups
        self._waiter = AsyncCargoWaiter(transport)

    async def load(
        self,
        params: requests.Params,
        *,
        callback_url: str | None = None,
        metadata: dict[str, Any] | None = None,
        deadline_seconds: int | None = None,
        deadline_at: str | None = None,
        group_id: str | None = None,
        custom_id: str | None = None,
        position: int | None = None,
        idempotency_key: str | None = None,
    ) -> Loaded:
        """Loads one request. Without an idempotency key the call makes one, for its own retries."""
        fields = {
            "params": params,
            "callback_url": callback_url,
            "metadata": metadata,
            "deadline_seconds": deadline_seconds,
            "deadline_at": deadline_at,
            "group_id": group_id,
            "custom_id": custom_id,
            "position": position,
        }
        key = idempotency_key or secrets.token_hex(16)
        return await self._transport.call(post("/cargo/load", without_none(fields), key=key), Loaded)

    async def bulk(
        self, loads: Sequence[requests.BulkLoadItem], *, idempotency_key: str | None = None
    ) -> BulkLoad:
        """Loads up to 1,000 requests. Each has its own result, so read `results` also when it returns."""
        key = idempotency_key or secrets.token_hex(16)
        return await self._transport.call(post("/cargo/bulk", {"cargo": loads}, key=key), BulkLoad)

    async def estimate(self, loads: requests.LoadRequest | Sequence[requests.LoadRequest]) -> Estimate:
        """What loads would cost and how long they would take. Nothing is stored."""
        body = {"cargo": list(loads)} if isinstance(loads, Sequence) else loads
        return await self._transport.call(post("/cargo/estimate", body, is_idempotent=True), Estimate)

    async def track(
        self, cargo_id: str, *, wait: int = 0, until: Literal["completed", "delivered"] = "completed"
    ) -> Tracking:
        """The record of a cargo. With `wait`, after so many seconds at most, or once it is completed."""
        path = f"/cargo/{cargo_id}/tracking"
        return await self._transport.call(get(path, wait=wait or None, until=until if wait else None), Tracking)

    async def wait(self, cargo_ids: Sequence[str], *, wait: int = 50) -> CargoWaitResult:
        """Waits until one of up to 1,000 cargo is completed. Call it again with `pending`."""
        body = {"cargo_ids": list(cargo_ids), "wait": wait}
        return await self._transport.call(post("/cargo/wait", body, is_idempotent=True), CargoWaitResult)

    async def list(
        self,
        *,
        status: Sequence[str] | None = None,
        success: bool | None = None,
        model: str | None = None,
        group_id: str | None = None,
        custom_id: str | None = None,
        callback_host: str | None = None,
        created_after: datetime | None = None,
        created_before: datetime | None = None,
        page_size: int | None = None,
    ) -> AsyncGenerator[CargoSummary]:
        """The cargo of the project, newest first. It reads the next page when you reach the end of one."""
        cursor: str | None = None
        while True:
            request = get(
                "/cargo",
                status=status,
                success=success,
                model=model,
                group_id=group_id,
                custom_id=custom_id,
                callback_host=callback_host,
                created_after=created_after,
                created_before=created_before,
                limit=page_size,
                cursor=cursor,
            )
            page = await self._transport.call(request, CargoList)
            for cargo in page.cargo:
                yield cargo
            cursor = page.next_cursor
            if cursor is None:
                return

    async def cancel(self, cargo_id: str) -> CancelAnswer:
        """Cancels a cargo that no provider has. `cancel` in the answer says what happened."""
        request = post(f"/cargo/{cargo_id}/cancel", {}, is_idempotent=True)
        return await self._transport.call(request, CancelAnswer)

    async def attempts(self, cargo_id: str) -> CallbackAttempts:
        """The attempts to deliver the callback."""
        return await self._transport.call(get(f"/cargo/{cargo_id}/attempts"), CallbackAttempts)

    async def resend(self, cargo_id: str) -> Resend:
        """Sends the callback of a completed cargo once more."""
        return await self._transport.call(post(f"/cargo/{cargo_id}/resend", {}), Resend)

    async def run(
        self,
        params: requests.Params,
        *,
        timeout: float | None = None,
        metadata: dict[str, Any] | None = None,
        deadline_seconds: int | None = None,
        idempotency_key: str | None = None,
        cancel_on_exit: bool = False,
    ) -> Answer:
        """Loads a request and waits for its answer.

        After `timeout` seconds it raises `StillUnderWay`, and the cargo stays. With `cancel_on_exit` it is
        cancelled when the call ends without an answer.
        """
        loaded = await self.load(
            params, metadata=metadata, deadline_seconds=deadline_seconds, idempotency_key=idempotency_key
        )
        is_completed = False
        try:
            tracking = await self._waiter.wait(loaded.cargo_id, timeout)
            is_completed = True
        finally:
            if cancel_on_exit and not is_completed:
                await self.cancel(loaded.cargo_id)
        return to_answer(tracking)

    async def result(self, cargo_id: str, *, timeout: float | None = None) -> Answer:
        """Waits for the answer of a cargo that was loaded before, perhaps by another process."""
        return to_answer(await self._waiter.wait(cargo_id, timeout))

    def map(
        self,
        rows: Iterable[Row],
        request: Callable[[Row], requests.Params],
        *,
        name: str | None = None,
        key: Callable[[Row], str] | None = None,
        order: Literal["input", "completion"] = "input",
        on_error: Literal["yield", "raise"] = "yield",
        max_cost: float | None = None,
        progress: bool | Callable[[MapProgress], None] = False,
    ) -> AsyncGenerator[MappedRow[Row]]:
        """Runs a request for each row, and yields the rows with their answers.

        The rows are a group with this name. After a crash, call it again with the same name and rows: what is
        loaded is neither loaded nor paid again. Rows are read as they are loaded, and kept on disk.
        """
        options = MapOptions(
            name=name, key=key, order=order, on_error=on_error, max_cost=max_cost, progress=progress
        )
        return AsyncMapping(self._transport, self._groups, rows, request, options).run()
