"""The parts of an interrupted upload, so that another call or process continues it."""

import json
import os
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

# The API aborts a session after a day.
MAX_AGE_SECONDS = 24 * 3600


@dataclass
class UploadState:
    """An open session. `parts` has the ETag of each uploaded part."""

    base_url: str
    file_id: str
    parts: dict[str, str] = field(default_factory=dict[str, str])


def state_path(sha256: str) -> Path:
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "longshore" / "uploads" / f"{sha256}.json"


def load_state(sha256: str, base_url: str) -> UploadState | None:
    path = state_path(sha256)
    try:
        is_current = time.time() - path.stat().st_mtime < MAX_AGE_SECONDS
        read: Any = json.loads(path.read_text())
        state = UploadState(**read)
    except (OSError, ValueError, TypeError):
        return None
    return state if is_current and state.base_url == base_url else None


def save_state(sha256: str, state: UploadState) -> None:
    path = state_path(sha256)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        written = path.with_suffix(f".{os.getpid()}")
        written.write_text(json.dumps(asdict(state)))
        written.replace(path)
    except OSError:
        # Without a folder for it, an interrupted upload starts again.
        pass


def forget_state(sha256: str) -> None:
    try:
        state_path(sha256).unlink(missing_ok=True)
    except OSError:
        pass
