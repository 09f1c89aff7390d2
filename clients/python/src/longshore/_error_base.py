"""What errors have in common."""

from typing import Any, cast


class LongshoreError(Exception):
    """The base of all errors of this package."""


class ApiError(LongshoreError):
    """The API refused a request. A class of its own exists for each known error."""

    def __init__(
        self,
        message: str,
        *,
        status: int,
        code: str | None = None,
        detail: Any = None,
        request_id: str | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.status = status
        self.code = code
        self.detail: Any = detail
        self.request_id = request_id
        self.retry_after = retry_after
        self.should_retry: bool | None = None

    def __str__(self) -> str:
        cause = f"{self.status} {self.code}" if self.code else str(self.status)
        request = f" (request {self.request_id})" if self.request_id else ""
        return f"{cause}: {self.message}{request}"

    @property
    def fields(self) -> dict[str, Any]:
        """The further fields of the error, such as `supported_models` or `upgrade_url`."""
        detail = self.detail
        return cast(dict[str, Any], detail) if isinstance(detail, dict) else {}

    @property
    def faults(self) -> list[dict[str, Any]]:
        """The validation errors, each with `type`, `loc` and `msg`."""
        detail = self.detail
        return cast(list[dict[str, Any]], detail) if isinstance(detail, list) else []


class NoAnswer(LongshoreError):
    """There was no answer. `maybe_accepted` says whether the request may have reached the server."""

    def __init__(self, message: str, *, maybe_accepted: bool) -> None:
        super().__init__(message)
        self.maybe_accepted = maybe_accepted


class NotConnected(NoAnswer):
    """The connection failed or was lost."""


class TimedOut(NoAnswer):
    """The answer did not come in time."""


class CargoError(LongshoreError):
    """A cargo has no answer. Only `run`, `result` and `map(on_error="raise")` raise it."""

    def __init__(self, cargo_id: str | None, error: str, code: str | None = None) -> None:
        super().__init__(f"{cargo_id}: {error}" if cargo_id else error)
        self.cargo_id = cargo_id
        self.error = error
        self.code = code


class CargoFailed(CargoError):
    """Processing failed."""


class CargoCancelled(CargoError):
    """The cargo was cancelled."""


class DeadlineMissed(CargoError):
    """No provider had the cargo at its deadline."""


class StillUnderWay(CargoError):
    """The timeout is over. `client.cargo.result(error.cargo_id)` continues, also in another process."""


class FileUploadFailed(LongshoreError):
    """The object store refused the bytes of a file."""


class InvalidSignature(LongshoreError):
    """A callback is not signed with any of the secrets. `reason` says why."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
