"""The Python client of Longshore, the batch inference service."""

from longshore import callbacks, errors, types
from longshore._answers import Answer
from longshore._async.client import AsyncLongshore
from longshore._error_base import ApiError, CargoError, LongshoreError, StillUnderWay
from longshore._estimates import Estimate
from longshore._mapped import MappedRow
from longshore._progress import MapProgress, UploadProgress
from longshore._sync.client import Longshore
from longshore._version import __version__
from longshore.messages import assistant, document, image, text, user, video

__all__ = [
    "Answer",
    "ApiError",
    "AsyncLongshore",
    "CargoError",
    "Estimate",
    "Longshore",
    "LongshoreError",
    "MapProgress",
    "MappedRow",
    "StillUnderWay",
    "UploadProgress",
    "__version__",
    "assistant",
    "callbacks",
    "document",
    "errors",
    "image",
    "text",
    "types",
    "user",
    "video",
]
