"""Rows that wait for their results, and results that wait for their turn, on disk."""

import pickle
import sqlite3
import threading
from dataclasses import dataclass
from typing import Any

CACHE_KIBIBYTES = 65536
SCHEMA = f"""
    pragma cache_size = -{CACHE_KIBIBYTES};
    pragma journal_mode = off;
    pragma synchronous = off;
    create table item (custom_id text primary key, number integer, row blob, result blob) without rowid;
    create index ready on item (number) where row is not null and result is not null;
"""


@dataclass(frozen=True)
class SpooledItem:
    """A row and its result."""

    number: int
    row: Any
    result: bytes


class Spool:
    """A temporary database, which SQLite keeps in memory while it is small and deletes when it is closed."""

    def __init__(self) -> None:
        self._database = sqlite3.connect("", check_same_thread=False, isolation_level=None)
        self._database.executescript(SCHEMA)
        self._lock = threading.Lock()
        self._unpicklable: dict[int, Any] = {}

    def add_row(self, number: int, custom_id: str, row: Any) -> None:
        # The entry stays after the row was taken, so that a second row with its key is found.
        statement = """
            insert into item (custom_id, number, row) values (?1, ?2, ?3)
            on conflict (custom_id) do update set number = ?2, row = ?3 where number is null
        """
        with self._lock:
            if self._database.execute(statement, (custom_id, number, self._pack(number, row))).rowcount != 1:
                raise ValueError(f"two rows have the key {custom_id!r}")

    def add_result(self, custom_id: str, result: bytes) -> None:
        statement = """
            insert into item (custom_id, result) values (?1, ?2)
            on conflict (custom_id) do update set result = ?2 where number is null or row is not null
        """
        with self._lock:
            self._database.execute(statement, (custom_id, result))

    def take(self, number: int | None) -> SpooledItem | None:
        """Removes the row with this number, or the first one, if its result is there."""
        statement = """
            select custom_id, number, row, result from item
            where row is not null and result is not null and (?1 is null or number = ?1)
            order by number limit 1
        """
        with self._lock:
            found = self._database.execute(statement, (number,)).fetchone()
            if found is None:
                return None
            custom_id, found_number, row, result = found
            self._database.execute("update item set row = null, result = null where custom_id = ?", (custom_id,))
            return SpooledItem(found_number, self._unpack(found_number, row), result)

    def _pack(self, number: int, row: Any) -> bytes:
        try:
            return pickle.dumps(row)
        except (pickle.PicklingError, AttributeError, TypeError):
            self._unpicklable[number] = row
            return b""

    def _unpack(self, number: int, row: bytes) -> Any:
        # These bytes never left this process.
        return pickle.loads(row) if row else self._unpicklable.pop(number)
