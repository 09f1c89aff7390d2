"""All errors. `ApiError` has a class for each kind; unknown codes get the class of their status."""

import json
from typing import Any, cast

from longshore import _error_classes
from longshore._error_base import (
    ApiError,
    CargoCancelled,
    CargoError,
    CargoFailed,
    DeadlineMissed,
    FileUploadFailed,
    InvalidSignature,
    LongshoreError,
    NoAnswer,
    NotConnected,
    StillUnderWay,
    TimedOut,
)
from longshore._error_classes import *  # noqa: F403

OUTCOMES = {"cancelled": CargoCancelled, "deadline_exceeded": DeadlineMissed}
SERVER_ERRORS = range(500, 600)

__all__ = [
    "ApiError",
    "CargoCancelled",
    "CargoError",
    "CargoFailed",
    "DeadlineMissed",
    "FileUploadFailed",
    "InvalidSignature",
    "LongshoreError",
    "NoAnswer",
    "NotConnected",
    "StillUnderWay",
    "TimedOut",
]
__all__ += [each.__name__ for each in _error_classes.CLASSES.values()]


def class_of(status: int, code: str | None) -> type[ApiError]:
    classes = _error_classes.CLASSES
    fallback = _error_classes.ServerError if status in SERVER_ERRORS else ApiError
    return classes.get((status, code)) or classes.get((status, None), fallback)


def api_error(
    status: int, detail: Any, *, request_id: str | None = None, retry_after: float | None = None
) -> ApiError:
    """The error of a `detail`: a text, an object with a code, or a list of validation errors."""
    code: str | None = None
    message = str(detail) if detail else "no detail"
    if isinstance(detail, dict):
        fields = cast(dict[str, Any], detail)
        code, message = fields.get("error"), str(fields.get("message", message))
    elif isinstance(detail, list):
        faults = cast(list[dict[str, Any]], detail)
        message = "; ".join(f"{location(fault)}: {fault.get('msg')}" for fault in faults)
    return class_of(status, code)(
        message, status=status, code=code, detail=detail, request_id=request_id, retry_after=retry_after
    )


def read_detail(body: bytes) -> Any:
    """The `detail` of an error body, or the body as text if a proxy wrote it."""
    try:
        read: Any = json.loads(body)
    except ValueError:
        return body[:1000].decode(errors="replace")
    return cast(dict[str, Any], read).get("detail", read) if isinstance(read, dict) else read


def location(fault: dict[str, Any]) -> str:
    return ".".join(str(step) for step in fault.get("loc", []))


def outcome_error(cargo_id: str | None, error: str | None, code: str | None) -> CargoError:
    return OUTCOMES.get(code or "", CargoFailed)(cargo_id, error or "processing failed", code)
