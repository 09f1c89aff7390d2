# Generated from openapi.json by `python -m generate`. Do not edit.
"""Cargo: loading, tracking, waiting, cancelling, callbacks."""

from datetime import datetime
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field

from longshore.types._base import Response
from longshore.types.completions import Completion, Usage


CargoStatus: TypeAlias = Literal[
    "PENDING", "BATCHED", "PROCESSING", "COMPLETED", "callback_delivered", "callback_failed"
] | str


CargoKind: TypeAlias = Literal["chat", "embedding"] | str


Moment: TypeAlias = datetime


class Cost(Response):
    """Money in whole numbers of 10^-`scale` of the currency."""

    held: int
    charged: int | None
    realtime: int | None
    saved: int | None
    currency: str
    scale: int


CallbackStatus: TypeAlias = Literal["open", "delivered", "failed"] | str


class CallbackSummary(Response):
    """The host of the callback, and how far it is."""

    host: str
    status: CallbackStatus


class CargoSummary(Response):
    """A cargo without its answer, which tracking has. Every field is always present; unknown values are null."""

    cargo_id: str
    status: CargoStatus
    model: str
    kind: CargoKind
    attempt: int
    created_at: datetime
    completed_at: datetime | None
    success: bool | None
    error: str | None
    error_code: str | None
    usage: Usage | None
    cost: Cost
    callback: CallbackSummary | None
    custom_id: str | None
    group_id: str | None
    metadata: dict[str, Any] | None


class CargoList(Response):
    """A page of cargo, newest first."""

    cargo: list[CargoSummary]
    next_cursor: str | None
    looked_until: datetime | None


WarningCode: TypeAlias = Literal["unknown_field", "ignored_by_model", "emulated"] | str


class Warning(Response):
    """A field that was accepted and has no effect, or not the usual one."""

    field: str
    code: WarningCode
    message: str


class AcceptedItem(Response):
    """The item is on disk."""

    index: int
    status: int
    cargo_id: str
    replay: bool
    warnings: list[Warning] | None = None


class CodedDetail(Response):
    """`error` is for programs, `message` for people; further fields depend on the error."""

    error: str
    message: str


Step: TypeAlias = str | int


class Fault(Response):
    """One thing wrong with the request, and where."""

    type: str
    loc: list[Step]
    msg: str


Detail: TypeAlias = Annotated[str | CodedDetail | list[Fault] | dict[str, Any], Field(union_mode="left_to_right")]


class RefusedItem(Response):
    """The item is not stored."""

    index: int
    status: int
    detail: Detail
    retry_after_seconds: int | None = None


BulkItemResult: TypeAlias = Annotated[AcceptedItem | RefusedItem | dict[str, Any], Field(union_mode="left_to_right")]


class BulkLoad(Response):
    """One result for each item, in the order of the request."""

    accepted: int
    refused: int
    results: list[BulkItemResult]


class EstimatedHold(Response):
    """What would be set aside until the outcomes."""

    amount: int
    currency: str
    scale: int


class EstimatedCost(Response):
    """What the loads would be charged. `low`, `likely` and `high` are null with too few samples."""

    low: int | None
    likely: int | None
    high: int | None
    most: int
    realtime_likely: int | None


class EstimatedInput(Response):
    bound: int
    likely: int | None


class EstimatedOutput(Response):
    """The percentiles are of the sum over all loads. They are null with too few samples."""

    bound: int
    p10: int | None
    p50: int | None
    p90: int | None


class EstimatedTokens(Response):
    input: EstimatedInput
    output: EstimatedOutput


class EstimatedTurnaround(Response):
    """How long recent batches of the same ways took, of the slowest way."""

    p50_seconds: int | None
    p90_seconds: int | None
    expected_at: datetime | None
    loading_seconds: int


class EstimateSamples(Response):
    """The settled cargo from which the figures are learned."""

    samples: int
    since: datetime | None


class Estimate(Response):
    """Amounts are whole nano-dollars. Nothing was stored."""

    items: int
    faults: list[RefusedItem]
    hold: EstimatedHold
    cost: EstimatedCost
    tokens: EstimatedTokens
    turnaround: EstimatedTurnaround
    based_on: EstimateSamples
    refused_by: str | None
    balance_after_hold: int | None


class Loaded(Response):
    """The acknowledgement: the cargo is stored durably."""

    cargo_id: str
    status: str
    message: str
    warnings: list[Warning] | None = None


class ResultCallback(Response):
    """Sent when processing finishes, with success or failure."""

    cargo_id: str
    success: bool
    response: Completion | None
    error: str | None
    error_code: str | None = None
    custom_id: str | None = None
    group_id: str | None = None
    metadata: dict[str, Any] | None = None


class CallbackTracking(Response):
    """The callback and its attempts."""

    url: str
    attempts: int
    last_attempt_at: datetime | None
    last_status_code: int | None
    last_error: str | None
    next_attempt_at: datetime | None
    delivered_at: datetime | None


class Waiting(Response):
    """What the cargo is waiting for."""

    code: str
    reason: str
    since: datetime
    expected_at: datetime | None


class Route(Response):
    """The way that the cargo takes to a provider, and why."""

    via: str
    reason: str | None = None


class Tracking(Response):
    """The record of one cargo. Every field up to `erased_at` is always present; unknown values are null."""

    cargo_id: str
    status: CargoStatus
    model: str
    kind: CargoKind
    attempt: int
    created_at: datetime
    batched_at: datetime | None
    processing_at: datetime | None
    completed_at: datetime | None
    deadline_at: datetime
    success: bool | None
    response: Completion | None
    error: str | None
    error_code: str | None
    usage: Usage | None
    cost: Cost
    callback: CallbackTracking | None
    waiting: Waiting | None
    metadata: dict[str, Any] | None
    erased_at: datetime | None
    warnings: list[Warning] | None = None
    route: Route | None = None
    group_id: str | None = None
    custom_id: str | None = None
    position: int | None = None
    cancel_requested_at: datetime | None = None


class CargoWaitResult(Response):
    """Each cargo of the request is in one of the lists."""

    completed: list[Tracking]
    pending: list[str]
    unknown: list[str]


class CallbackAttempt(Response):
    """One POST to `callback_url`."""

    number: int
    started_at: datetime
    ended_at: datetime
    latency_ms: int
    status_code: int | None
    error: str | None
    answer: str | None
    resend: bool


class CallbackAttempts(Response):
    """The attempts of a callback."""

    attempts: list[CallbackAttempt]
    next_attempt_at: datetime | None


CancelResult: TypeAlias = Literal["cancelled", "too_late", "done"] | str


class CancelAnswer(Response):
    cargo_id: str
    status: CargoStatus
    cancel: CancelResult


ResendState: TypeAlias = Literal["queued", "already_due"] | str


class Resend(Response):
    """The acknowledgement of a resend."""

    cargo_id: str
    resend: ResendState
