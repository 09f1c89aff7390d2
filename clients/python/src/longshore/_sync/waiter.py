# Generated from _async by `python -m generate`. Do not edit.
"""One loop of `POST /cargo/wait` for all cargo that a client waits for."""

import threading
import time

from longshore._concurrency import Signal, sleep
from longshore._error_base import StillUnderWay
from longshore._requests import post, retry_after
from longshore._sync.transport import Transport
from longshore.errors import api_error
from longshore.types import CargoWaitResult, Tracking

# Short, because cargo that is added meanwhile is in the next request.
MAX_WAIT_SECONDS = 5
MAX_CARGO_IDS = 1000
NOT_FOUND = 404


class Waiting:
    """One caller that waits for a cargo."""

    def __init__(self, cargo_id: str) -> None:
        self.cargo_id = cargo_id
        self.signal = Signal()
        self.record: Tracking | None = None
        self.is_unknown = False


class CargoWaiter:
    """One caller at a time is the leader and asks for all. When its cargo is completed, another leads."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._lock = threading.Lock()
        self._waiting: dict[Waiting, None] = {}
        self._leader: Waiting | None = None

    def wait(self, cargo_id: str, timeout: float | None = None) -> Tracking:
        """The record of a cargo, once it is completed."""
        deadline = None if timeout is None else time.monotonic() + timeout
        mine = Waiting(cargo_id)
        with self._lock:
            self._waiting[mine] = None
        try:
            while mine.record is None:
                if mine.is_unknown:
                    raise api_error(NOT_FOUND, "Cargo not found")
                left = None if deadline is None else deadline - time.monotonic()
                if left is not None and left <= 0:
                    raise StillUnderWay(cargo_id, f"not completed after {timeout} seconds")
                mine.signal.clear()
                if self._lead(mine):
                    self._ask(MAX_WAIT_SECONDS if left is None else min(left, MAX_WAIT_SECONDS))
                elif mine.record is None:
                    mine.signal.wait(left)
            return mine.record
        finally:
            self._leave(mine)

    def _lead(self, mine: Waiting) -> bool:
        with self._lock:
            if self._leader is None and mine.record is None:
                self._leader = mine
            return self._leader is mine

    def _leave(self, mine: Waiting) -> None:
        with self._lock:
            self._waiting.pop(mine, None)
            if self._leader is mine:
                self._leader = None
            if self._leader is None and self._waiting:
                next(iter(self._waiting)).signal.set()

    def _ask(self, seconds: float) -> None:
        with self._lock:
            ids = list(dict.fromkeys(each.cargo_id for each in self._waiting))[:MAX_CARGO_IDS]
        # The API takes whole seconds.
        body = {"cargo_ids": ids, "wait": max(1, round(seconds))}
        response = self._transport.send(post("/cargo/wait", body, is_idempotent=True))
        result = CargoWaitResult.model_validate_json(response.content)
        records = {record.cargo_id: record for record in result.completed}
        asked, unknown = set(ids), set(result.unknown)
        with self._lock:
            for each in [it for it in self._waiting if it.cargo_id in asked and it.record is None]:
                # Moved to the end, so that every request begins with those that waited longest for one.
                self._waiting[each] = self._waiting.pop(each)
                each.record = records.get(each.cargo_id)
                each.is_unknown = each.cargo_id in unknown
                if each.record or each.is_unknown:
                    each.signal.set()
        pause = retry_after(response.headers)
        if pause is not None and not records:
            sleep(pause)
