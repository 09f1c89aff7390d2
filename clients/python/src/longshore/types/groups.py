# Generated from openapi.json by `python -m generate`. Do not edit.
"""Groups of cargo, and their results."""

from datetime import datetime
from typing import Any, Literal, TypeAlias

from longshore.types._base import Response
from longshore.types.completions import Completion, Usage
from longshore.types.cargo import CallbackTracking


GroupStatus: TypeAlias = Literal["open", "sealed", "cancelling", "cancelled", "completed"] | str


class GroupCounts(Response):
    """How many cargo a group has, by how they ended."""

    total: int
    unfinished: int
    succeeded: int
    failed: int
    cancelled: int


class GroupCost(Response):
    """Sums over the cargo of a group, in whole numbers of 10^-`scale` of the currency."""

    held: int
    charged: int
    realtime: int
    saved: int
    currency: str
    scale: int


class GroupFailure(Response):
    """How often cargo of the group failed in the same way, with one of them as an example."""

    error: str
    count: int
    cargo_id: str


class Group(Response):
    """The record of a group."""

    group_id: str
    name: str
    status: GroupStatus
    created_at: datetime
    sealed_at: datetime | None
    cancel_requested_at: datetime | None
    completed_at: datetime | None
    expected_at: datetime | None = None
    counts: GroupCounts
    usage: Usage
    cost: GroupCost
    failures: list[GroupFailure] | None = None
    callback: CallbackTracking | None = None
    metadata: dict[str, Any] | None
    existing: bool | None = None


class GroupList(Response):
    """A page of groups, newest first."""

    groups: list[Group]
    next_cursor: str | None


class GroupCallback(Response):
    """Sent to the `callback_url` of a group when the group is completed or cancelled."""

    type: str
    group_id: str
    name: str
    status: GroupStatus
    completed_at: datetime
    counts: GroupCounts
    metadata: dict[str, Any] | None


class GroupResultCost(Response):
    """What the cargo cost, in nano-dollars."""

    charged: int


class GroupResult(Response):
    """One line of the results of a group."""

    number: int
    position: int
    custom_id: str
    cargo_id: str
    success: bool
    response: Completion | None
    error: str | None
    error_code: str | None
    usage: Usage
    cost: GroupResultCost
    model: str
    created_at: datetime
    completed_at: datetime
    metadata: dict[str, Any] | None
    erased_at: datetime | None = None
    params: dict[str, Any] | None = None
