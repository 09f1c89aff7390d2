"""Whether a failed request is sent again, and how long to wait before that.

`clients/retry_cases.toml` has the cases that all clients share.
"""

from dataclasses import dataclass

from longshore._error_classes import RETRY_RULES

REPEATABLE_METHODS = frozenset({"GET", "HEAD", "PUT", "DELETE"})
TOO_MANY_REQUESTS = 429
BACKOFF = (0.5, 30.0)
SLOW_BACKOFF = (1.0, 60.0)
RETRY_AFTER_SPREAD = 0.1


@dataclass(frozen=True, kw_only=True)
class Failure:
    """A request that failed. `status` is 0 if there was no answer."""

    method: str
    idempotency_key: bool
    idempotent: bool = False
    body_sent: bool
    status: int
    code: str | None = None
    retry_after: float | None = None
    should_retry: bool | None = None
    attempt: int

    @property
    def is_repeatable(self) -> bool:
        return self.method in REPEATABLE_METHODS or self.idempotency_key or self.idempotent


@dataclass(frozen=True)
class Wait:
    """The seconds between which the wait is drawn, evenly."""

    shortest: float
    longest: float


def decide_retry(failure: Failure) -> Wait | None:
    """None: the request is not sent again."""
    if failure.status == 0:
        was_not_sent = not failure.body_sent
        return backoff(BACKOFF, failure.attempt) if was_not_sent or failure.is_repeatable else None
    rule = rule_of(failure.status, failure.code)
    if failure.should_retry is False or (rule == "no" and not failure.should_retry):
        return None
    # A request that a limit refused had no effect.
    if failure.status != TOO_MANY_REQUESTS and not failure.is_repeatable:
        return None
    if failure.retry_after is not None and rule != "backoff":
        spread = failure.retry_after * RETRY_AFTER_SPREAD
        return Wait(failure.retry_after - spread, failure.retry_after + spread)
    return backoff(SLOW_BACKOFF if rule == "slow_backoff" else BACKOFF, failure.attempt)


def rule_of(status: int, code: str | None) -> str:
    fallback = "backoff" if status >= 500 else "no"
    return RETRY_RULES.get((status, code)) or RETRY_RULES.get((status, None), fallback)


def backoff(bounds: tuple[float, float], attempt: int) -> Wait:
    first, longest = bounds
    return Wait(0.0, min(first * 2 ** min(attempt, 16), longest))
