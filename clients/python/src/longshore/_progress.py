"""Progress on the terminal."""

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

MIN_INTERVAL_SECONDS = 0.1
BAR_WIDTH = 24


@dataclass(frozen=True)
class MapProgress:
    """How far a map is, in rows. `total` is None until all rows were read."""

    loaded: int
    done: int
    failed: int
    total: int | None


@dataclass(frozen=True)
class UploadProgress:
    """How far an upload is, in bytes. `phase` is `hashing`, `uploading` or `validating`."""

    phase: str
    done: int
    total: int


def map_line(progress: MapProgress) -> str:
    counts = f"loaded {progress.loaded:,} · done {progress.done:,} · failed {progress.failed:,}"
    return f"{bar(progress.done, progress.total)} {counts}"


def upload_line(progress: UploadProgress) -> str:
    return f"{bar(progress.done, progress.total)} {progress.phase} {progress.done:,} of {progress.total:,} bytes"


def bar(done: int, total: int | None) -> str:
    filled = BAR_WIDTH * done // total if total else 0
    return f"[{'#' * filled}{'.' * (BAR_WIDTH - filled)}]"


class ProgressBar:
    """One line on stderr that is rewritten. Without a terminal it prints nothing."""

    def __init__(self) -> None:
        self._shown_at = 0.0
        self._is_shown = False

    def show(self, line: str) -> None:
        now = time.monotonic()
        if sys.stderr.isatty() and now - self._shown_at >= MIN_INTERVAL_SECONDS:
            self._shown_at = now
            self._is_shown = True
            print(f"\r\x1b[K{line}", end="", file=sys.stderr, flush=True)

    def end(self) -> None:
        if self._is_shown:
            print(file=sys.stderr)


def map_reporter(progress: bool | Callable[[MapProgress], None], shown: ProgressBar) -> Callable[[MapProgress], None]:
    if callable(progress):
        return progress
    return (lambda each: shown.show(map_line(each))) if progress else (lambda each: None)


def upload_reporter(
    progress: bool | Callable[[UploadProgress], None], shown: ProgressBar
) -> Callable[[UploadProgress], None]:
    if callable(progress):
        return progress
    return (lambda each: shown.show(upload_line(each))) if progress else (lambda each: None)
