# Generated from openapi.json by `python -m generate`. Do not edit.
"""Files, and the grants to upload them."""

from datetime import datetime
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field

from longshore.types._base import Response


class File(Response):
    """The record of one file. Every field is always present."""

    id: str
    status: Literal["uploading", "validating", "ready", "failed", "expired"] | str
    kind: Literal["image", "document", "video"] | str
    filename: str
    media_type: Literal[
        "image/jpeg", "image/png", "image/gif", "image/webp", "application/pdf", "text/plain", "text/csv",
        "text/markdown", "video/mp4", "video/quicktime", "video/webm", "video/x-matroska"
    ] | str
    size_bytes: int
    sha256: str
    scan_status: Literal["pending", "clean", "infected", "error", "timeout"] | str
    failure_reason: Literal[
        "size_mismatch", "checksum_mismatch", "magic_byte_mismatch", "malformed_document", "malformed_image",
        "malformed_video", "too_many_pages", "video_too_long", "encrypted_document", "malware_detected",
        "scan_timeout", "scan_limit_exceeded", "upload_missing", "upload_aborted", "upload_abandoned"
    ] | str | None
    ttl_seconds: int
    expires_at: datetime
    pinned: bool
    active_ref_count: int
    metadata: dict[str, Any]
    created_at: datetime


class FileList(Response):
    """A page of files, newest first."""

    files: list[File]
    next_cursor: str | None


class UploadPart(Response):
    """Where to upload one chunk."""

    part_number: int
    url: str


class PostUpload(Response):
    """`multipart/form-data` with every field, then the file as the last field, named `file`."""

    url: str
    fields: dict[str, str]
    expires_at: datetime
    type: Literal["post"]


class MultipartUpload(Response):
    """PUT each chunk to the URL of its part."""

    part_size_bytes: int
    parts: list[UploadPart]
    checksum_header: str
    expires_at: datetime
    type: Literal["multipart"]


Upload: TypeAlias = Annotated[PostUpload | MultipartUpload | dict[str, Any], Field(union_mode="left_to_right")]


class UploadSession(Response):
    """The answer to `POST /files`."""

    id: str
    status: Literal["uploading", "validating", "ready", "failed", "expired"] | str
    deduplicated: bool
    upload: Upload | None


class FileContent(Response):
    """Where to download a ready file, for five minutes and without an API key."""

    id: str
    download_url: str
    expires_at: datetime
    filename: str
    media_type: Literal[
        "image/jpeg", "image/png", "image/gif", "image/webp", "application/pdf", "text/plain", "text/csv",
        "text/markdown", "video/mp4", "video/quicktime", "video/webm", "video/x-matroska"
    ] | str
    size_bytes: int


class RefreshedUpload(Response):
    """The answer to `POST /files/{file_id}/parts`."""

    id: str
    status: Literal["uploading", "validating", "ready", "failed", "expired"] | str
    upload: Upload
