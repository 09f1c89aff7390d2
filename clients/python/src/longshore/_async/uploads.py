"""Uploads a file: declares it, sends its bytes to the object store, and completes it."""

import random
import threading
from collections.abc import Callable
from typing import Any

import httpx2

from longshore import _retry
from longshore._async.transport import AsyncTransport
from longshore._concurrency import async_run_blocking, async_run_parallel, async_sleep
from longshore._error_base import ApiError, FileUploadFailed
from longshore._json import without_none
from longshore._progress import UploadProgress
from longshore._requests import get, post
from longshore._upload_source import Hashes, UploadSource
from longshore._upload_state import UploadState, forget_state, load_state, save_state
from longshore.types import File, MultipartUpload, PostUpload, RefreshedUpload, Upload, UploadPart, UploadSession

MAX_STORE_ATTEMPTS = 6
VALIDATION_DELAY = 1.0
FORBIDDEN = 403


class AsyncUploader:
    """One upload. It continues a session that an earlier call left open."""

    def __init__(
        self, transport: AsyncTransport, source: UploadSource, report: Callable[[UploadProgress], None]
    ) -> None:
        self._transport = transport
        self._source = source
        self._report = report
        self._lock = threading.Lock()
        self._uploaded = 0

    async def run(self, declaration: dict[str, Any], parallel: int) -> File:
        hashes = await async_run_blocking(self._source.hash, self._report)
        base_url = self._transport.options.base_url
        state = load_state(hashes.whole, base_url)
        upload = await self._resume(state, hashes) if state else None
        if state is None or upload is None:
            session = await self._declare(declaration, hashes)
            if session.upload is None:
                return await self._transport.call(get(f"/files/{session.id}"), File)
            state, upload = UploadState(base_url, session.id), session.upload
            save_state(hashes.whole, state)
        if isinstance(upload, MultipartUpload):
            await self._send_parts(upload, state, hashes, parallel)
        elif isinstance(upload, PostUpload):
            await self._send_form(upload, state)
        file = await self._complete(state, hashes)
        forget_state(hashes.whole)
        return file

    async def _declare(self, declaration: dict[str, Any], hashes: Hashes) -> UploadSession:
        body = declaration | {"size_bytes": self._source.size, "sha256": hashes.whole}
        body = without_none(body | {"part_checksums": hashes.parts or None})
        # A repeat can leave a second session, which the API aborts after a day.
        return await self._transport.call(post("/files", body, is_idempotent=True), UploadSession)

    async def _resume(self, state: UploadState, hashes: Hashes) -> Upload | None:
        """New grants for what is missing. None if the session has ended."""
        missing = [number for number in range(1, len(hashes.parts) + 1) if str(number) not in state.parts]
        body = {"part_numbers": missing or [len(hashes.parts)]} if hashes.parts else {}
        request = post(f"/files/{state.file_id}/parts", body, is_idempotent=True)
        try:
            return (await self._transport.call(request, RefreshedUpload)).upload
        except ApiError as error:
            if error.status not in (404, 409):
                raise
            forget_state(hashes.whole)
            return None

    async def _send_form(self, upload: PostUpload, state: UploadState) -> None:
        body = await async_run_blocking(self._source.read, 0, self._source.size)
        for attempt in range(MAX_STORE_ATTEMPTS):
            response = await self._store(
                attempt, "POST", upload.url, data=upload.fields, files={"file": (self._source.filename, body)}
            )
            if response is not None:
                self._report(UploadProgress("uploading", len(body), len(body)))
                return
            refreshed = await self._refresh(state, {})
            if isinstance(refreshed, PostUpload):
                upload = refreshed
        raise FileUploadFailed(f"the object store did not take the file after {MAX_STORE_ATTEMPTS} attempts")

    async def _send_parts(self, upload: MultipartUpload, state: UploadState, hashes: Hashes, parallel: int) -> None:
        async def send(part: UploadPart) -> None:
            body = await async_run_blocking(self._source.read_part, part.part_number)
            checksum = hashes.parts[part.part_number - 1]
            etag = await self._send_part(part, body, {upload.checksum_header: checksum}, state)
            with self._lock:
                state.parts[str(part.part_number)] = etag
                save_state(hashes.whole, state)
                self._uploaded += len(body)
            self._report(UploadProgress("uploading", self._uploaded, self._source.size))

        left = [part for part in upload.parts if str(part.part_number) not in state.parts]
        sizes = [len_of_part(self._source.size, upload.part_size_bytes, part.part_number) for part in left]
        self._uploaded = self._source.size - sum(sizes)
        await async_run_parallel(send, left, parallel)

    async def _send_part(
        self, part: UploadPart, body: bytes, headers: dict[str, str], state: UploadState
    ) -> str:
        url = part.url
        for attempt in range(MAX_STORE_ATTEMPTS):
            response = await self._store(attempt, "PUT", url, content=body, headers=headers)
            if response is not None:
                return response.headers["etag"]
            refreshed = await self._refresh(state, {"part_numbers": [part.part_number]})
            if isinstance(refreshed, MultipartUpload):
                url = refreshed.parts[0].url
        raise FileUploadFailed(f"the object store did not take part {part.part_number}")

    async def _refresh(self, state: UploadState, body: dict[str, Any]) -> Upload:
        request = post(f"/files/{state.file_id}/parts", body, is_idempotent=True)
        return (await self._transport.call(request, RefreshedUpload)).upload

    async def _store(self, attempt: int, method: str, url: str, **content: Any) -> httpx2.Response | None:
        """None: the attempt failed, and another one with a new grant may succeed."""
        try:
            response = await self._transport.http.request(
                method, url, timeout=self._transport.options.timeout, follow_redirects=False, **content
            )
        except httpx2.TransportError:
            response = None
        if response is not None and response.is_success:
            return response
        if response is not None and response.status_code < 500 and response.status_code != FORBIDDEN:
            raise FileUploadFailed(f"the object store answered {response.status_code}: {response.text[:300]}")
        wait = _retry.backoff(_retry.BACKOFF, attempt)
        await async_sleep(random.uniform(wait.shortest, wait.longest))
        return None

    async def _complete(self, state: UploadState, hashes: Hashes) -> File:
        parts = [
            {"part_number": number, "etag": state.parts[str(number)], "checksum_sha256": checksum}
            for number, checksum in enumerate(hashes.parts, start=1)
        ]
        request = post(f"/files/{state.file_id}/complete", {"parts": parts} if parts else {}, is_idempotent=True)
        while True:
            file = await self._transport.call(request, File)
            self._report(UploadProgress("validating", self._source.size, self._source.size))
            if file.status != "validating":
                return file
            await async_sleep(VALIDATION_DELAY)


def len_of_part(size: int, part_size: int, number: int) -> int:
    return min(part_size, size - (number - 1) * part_size)
