"""The bytes of an upload: their size, type and hashes."""

import base64
import hashlib
import io
import os
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from longshore._progress import UploadProgress

SINGLE_SHOT_BYTES = 8 << 20
PART_BYTES = 16 << 20
HASH_CHUNK_BYTES = 1 << 20
SUFFIXES = {
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".png": "image/png",
    ".gif": "image/gif",
    ".webp": "image/webp",
    ".pdf": "application/pdf",
    ".txt": "text/plain",
    ".csv": "text/csv",
    ".md": "text/markdown",
    ".mp4": "video/mp4",
    ".mov": "video/quicktime",
    ".webm": "video/webm",
    ".mkv": "video/x-matroska",
}
MAGIC_BYTES = {
    b"\xff\xd8\xff": "image/jpeg",
    b"\x89PNG": "image/png",
    b"GIF8": "image/gif",
    b"%PDF": "application/pdf",
}


@dataclass(frozen=True)
class Hashes:
    """The SHA-256 of the whole in hex, and of each part in base64."""

    whole: str
    parts: list[str]


class UploadSource:
    """A file, or bytes. Parts can be read from several threads."""

    def __init__(self, source: str | os.PathLike[str] | bytes | BinaryIO, filename: str | None) -> None:
        if isinstance(source, bytes):
            self._file: BinaryIO = io.BytesIO(source)
        elif isinstance(source, str | os.PathLike):
            self._file = open(source, "rb")
        else:
            self._file = source
        named = os.fspath(source) if isinstance(source, str | os.PathLike) else getattr(source, "name", None)
        self.filename = filename or (Path(named).name if isinstance(named, str) else "upload")
        self.size = self._file.seek(0, os.SEEK_END)
        self._is_ours = self._file is not source
        self._lock = threading.Lock()

    def read(self, offset: int, length: int) -> bytes:
        with self._lock:
            self._file.seek(offset)
            return self._file.read(length)

    def read_part(self, number: int) -> bytes:
        return self.read((number - 1) * PART_BYTES, PART_BYTES)

    def media_type(self) -> str:
        """By the suffix of the name, or by the first bytes."""
        if found := SUFFIXES.get(Path(self.filename).suffix.lower()):
            return found
        head = self.read(0, 16)
        for magic, media_type in MAGIC_BYTES.items():
            if head.startswith(magic):
                return media_type
        raise ValueError(f"the media type of {self.filename!r} is not known: pass media_type")

    def hash(self, report: Callable[[UploadProgress], None]) -> Hashes:
        whole, part, parts = hashlib.sha256(), hashlib.sha256(), list[str]()
        for offset in range(0, self.size, HASH_CHUNK_BYTES):
            chunk = self.read(offset, HASH_CHUNK_BYTES)
            whole.update(chunk)
            part.update(chunk)
            end = offset + len(chunk)
            report(UploadProgress("hashing", end, self.size))
            if end % PART_BYTES == 0 or end == self.size:
                parts.append(base64.b64encode(part.digest()).decode())
                part = hashlib.sha256()
        return Hashes(whole.hexdigest(), parts if self.size > SINGLE_SHOT_BYTES else [])

    def close(self) -> None:
        if self._is_ours:
            self._file.close()
