"""Groups of cargo."""

from collections.abc import AsyncGenerator
from typing import Any, Literal

from longshore._async.transport import AsyncTransport
from longshore._concurrency import async_sleep
from longshore._error_base import ApiError, NoAnswer
from longshore._json import without_none
from longshore._requests import get, is_passing, post
from longshore.types import Group, GroupList, GroupResult

MAX_BROKEN_DOWNLOADS = 8
RESUME_DELAY = 1.0


class AsyncGroups:
    """`client.groups`."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def create(
        self, name: str | None = None, *, metadata: dict[str, Any] | None = None, callback_url: str | None = None
    ) -> Group:
        """Creates a group, or returns the one with this name. `callback_url` is called when it is completed."""
        body = without_none({"name": name, "metadata": metadata, "callback_url": callback_url})
        request = post("/groups", body, is_idempotent=name is not None)
        return await self._transport.call(request, Group)

    async def get(self, group_id: str, *, wait: int = 0) -> Group:
        """The progress of a group. With `wait`, after so many seconds at most, or once it is completed."""
        return await self._transport.call(get(f"/groups/{group_id}", wait=wait or None), Group)

    async def list(
        self, *, name_prefix: str | None = None, status: str | None = None, page_size: int | None = None
    ) -> AsyncGenerator[Group]:
        """The groups of the project, newest first."""
        cursor: str | None = None
        while True:
            request = get("/groups", name_prefix=name_prefix, status=status, limit=page_size, cursor=cursor)
            page = await self._transport.call(request, GroupList)
            for group in page.groups:
                yield group
            cursor = page.next_cursor
            if cursor is None:
                return

    async def seal(self, group_id: str, *, total: int | None = None) -> Group:
        """Adds nothing more to a group. With `total`, only if it has so many cargo."""
        request = post(f"/groups/{group_id}/seal", without_none({"total": total}), is_idempotent=True)
        return await self._transport.call(request, Group)

    async def cancel(self, group_id: str) -> Group:
        """Seals a group and cancels its cargo."""
        request = post(f"/groups/{group_id}/cancel", {}, is_idempotent=True)
        return await self._transport.call(request, Group)

    async def results(
        self,
        group_id: str,
        *,
        order: Literal["position", "completion"] = "position",
        after: int | None = None,
        wait: int = 0,
        success: bool | None = None,
        include_params: bool = False,
    ) -> AsyncGenerator[GroupResult]:
        """The results that exist. A download that breaks off continues after its last line."""
        broken = 0
        while True:
            request = get(
                f"/groups/{group_id}/results",
                order=order,
                after=after,
                wait=wait if wait and order == "completion" else None,
                success=success,
                include="params" if include_params else None,
            )
            pause = RESUME_DELAY
            try:
                async with self._transport.stream(request) as response:
                    async for line in response.aiter_lines():
                        if line:
                            result = GroupResult.model_validate_json(line)
                            after = result.number if order == "completion" else result.position
                            broken = 0
                            yield result
                return
            except (ApiError, NoAnswer) as error:
                broken += 1
                if not is_passing(error) or broken > MAX_BROKEN_DOWNLOADS:
                    raise
                if isinstance(error, ApiError) and error.retry_after:
                    pause = error.retry_after
            await async_sleep(pause)
