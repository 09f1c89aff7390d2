"""Files that models read."""

import os
from collections.abc import AsyncGenerator, Callable
from typing import Any, BinaryIO, Literal

from longshore._async.transport import AsyncTransport
from longshore._async.uploads import AsyncUploader
from longshore._json import without_none
from longshore._progress import ProgressBar, UploadProgress, upload_reporter
from longshore._requests import ApiRequest, get, post, query_pairs
from longshore._upload_source import UploadSource
from longshore.types import File, FileContent, FileList


class AsyncFiles:
    """`client.files`."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def upload(
        self,
        source: str | os.PathLike[str] | bytes | BinaryIO,
        *,
        filename: str | None = None,
        media_type: str | None = None,
        ttl_seconds: int | None = None,
        metadata: dict[str, Any] | None = None,
        parallel: int = 4,
        progress: bool | Callable[[UploadProgress], None] = False,
    ) -> File:
        """Uploads a path, bytes or an open file, and waits until it is ready.

        The same bytes again need no upload. An interrupted upload continues when you call it again.
        """
        opened = UploadSource(source, filename)
        shown = ProgressBar()
        try:
            declaration = {
                "filename": opened.filename,
                "media_type": media_type or opened.media_type(),
                "ttl_seconds": ttl_seconds,
                "metadata": metadata,
            }
            upload = AsyncUploader(self._transport, opened, upload_reporter(progress, shown))
            return await upload.run(without_none(declaration), parallel)
        finally:
            shown.end()
            opened.close()

    async def get(self, file_id: str) -> File:
        return await self._transport.call(get(f"/files/{file_id}"), File)

    async def content(self, file_id: str) -> FileContent:
        """A URL to download a ready file, for five minutes and without a key."""
        return await self._transport.call(get(f"/files/{file_id}/content"), FileContent)

    async def list(
        self,
        *,
        status: Literal["uploading", "validating", "ready", "failed", "expired"] | None = None,
        kind: Literal["image", "document", "video"] | None = None,
        page_size: int | None = None,
    ) -> AsyncGenerator[File]:
        """The files of the project, newest first."""
        cursor: str | None = None
        while True:
            request = get("/files", status=status, kind=kind, limit=page_size, cursor=cursor)
            page = await self._transport.call(request, FileList)
            for file in page.files:
                yield file
            cursor = page.next_cursor
            if cursor is None:
                return

    async def update(
        self,
        file_id: str,
        *,
        ttl_seconds: int | None = None,
        metadata: dict[str, Any] | None = None,
        pinned: bool | None = None,
    ) -> File:
        """Changes the fields that are given. `metadata` replaces all tags."""
        body = without_none({"ttl_seconds": ttl_seconds, "metadata": metadata, "pinned": pinned})
        change = post(f"/files/{file_id}", body).body
        return await self._transport.call(ApiRequest(method="PATCH", path=f"/files/{file_id}", body=change), File)

    async def delete(self, file_id: str, *, force: bool = False) -> File:
        """Deletes a file. With `force` also if cargo in flight references it."""
        query = query_pairs({"force": True if force else None})
        return await self._transport.call(ApiRequest(method="DELETE", path=f"/files/{file_id}", query=query), File)
