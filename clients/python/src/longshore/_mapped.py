"""The rows of a map: their loads, and what came back."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar

from longshore import _json
from longshore._answers import completion_text
from longshore._error_base import ApiError, CargoError
from longshore._progress import MapProgress
from longshore._retry import rule_of
from longshore._spool import SpooledItem
from longshore.errors import api_error, outcome_error
from longshore.types import GroupResult, RefusedItem, requests

Row = TypeVar("Row")
MAX_BULK_ITEMS = 1000
MAX_BULK_BYTES = 8 << 20


@dataclass(frozen=True)
class MapOptions(Generic[Row]):
    """The options of `map`."""

    name: str | None
    key: Callable[[Row], str] | None
    order: Literal["input", "completion"]
    on_error: Literal["yield", "raise"]
    max_cost: float | None
    progress: bool | Callable[[MapProgress], None]


@dataclass(frozen=True)
class MappedRow(Generic[Row]):
    """A row with its answer, or with the error in place of one."""

    row: Row
    number: int
    result: GroupResult | None
    error: CargoError | ApiError | None

    @property
    def text(self) -> str:
        """The text of the answer; empty if there is none."""
        return completion_text(self.result.response) if self.result else ""


@dataclass(frozen=True)
class RowLoad:
    """The load of a row, as its bytes in a bulk."""

    custom_id: str
    body: bytes


def row_load(number: int, custom_id: str | None, group_id: str, params: requests.Params) -> RowLoad:
    load: dict[str, Any] = {"params": params, "group_id": group_id, "custom_id": custom_id or str(number)}
    if custom_id is None:
        # With keys, rows may come in another order when the map is resumed.
        load["position"] = number
    return RowLoad(load["custom_id"], _json.to_bytes(load))


def bulk_body(loads: list[RowLoad]) -> bytes:
    return b'{"cargo":[' + b",".join(load.body for load in loads) + b"]}"


def in_bulks(loads: Iterator[RowLoad]) -> Iterator[list[RowLoad]]:
    """Lists that one request can hold."""
    bulk: list[RowLoad] = []
    size = 0
    for load in loads:
        if bulk and (len(bulk) == MAX_BULK_ITEMS or size + len(load.body) > MAX_BULK_BYTES):
            yield bulk
            bulk, size = [], 0
        bulk.append(load)
        size += len(load.body) + 1
    if bulk:
        yield bulk


def is_refused_for_now(item: RefusedItem) -> bool:
    code: Any = getattr(item.detail, "error", None)
    return rule_of(item.status, code) != "no"


def refusal(item: RefusedItem) -> bytes:
    """What the spool keeps of a row that was not loaded."""
    return _json.to_bytes({"refused": item.model_dump(mode="json")})


def mapped_row(item: SpooledItem) -> MappedRow[Any]:
    if item.result.startswith(b'{"refused":'):
        refused = json.loads(item.result)["refused"]
        error = api_error(refused["status"], refused["detail"])
        return MappedRow(item.row, item.number, None, error)
    result = GroupResult.model_validate_json(item.result)
    failure = None if result.success else outcome_error(result.cargo_id, result.error, result.error_code)
    return MappedRow(item.row, item.number, result, failure)
