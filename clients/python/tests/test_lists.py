"""Lists walk through pages, and results continue after a broken download."""

from datetime import UTC, datetime

import httpx2
import pytest
from server import COST, MOMENT, USAGE, GroupServer

from longshore import errors


def summary(cargo_id):
    unknown = dict.fromkeys(["completed_at", "success", "error", "error_code", "callback", "custom_id", "group_id"])
    known = {"cargo_id": cargo_id, "status": "PENDING", "model": "m", "kind": "chat", "attempt": 1}
    return known | unknown | {"created_at": MOMENT, "usage": USAGE, "cost": COST, "metadata": None}


def test_only_a_null_cursor_is_the_end(client):
    pages = {
        None: {"cargo": [summary("crg_1")], "next_cursor": "b", "looked_until": None},
        "b": {"cargo": [], "next_cursor": "c", "looked_until": MOMENT},
        "c": {"cargo": [summary("crg_2")], "next_cursor": None, "looked_until": None},
    }
    seen = []

    def handler(request):
        seen.append(request.url)
        return httpx2.Response(200, json=pages[request.url.params.get("cursor")])

    after = datetime(2026, 11, 15, tzinfo=UTC)
    listed = client(handler).cargo.list(status=["PENDING", "BATCHED"], success=False, created_after=after)
    assert [cargo.cargo_id for cargo in listed] == ["crg_1", "crg_2"]
    query = seen[0].params
    assert query.get_list("status") == ["PENDING", "BATCHED"]
    assert (query["success"], query["created_after"]) == ("false", "2026-11-15T00:00:00+00:00")


def test_a_time_without_a_zone_is_an_error(client):
    with pytest.raises(ValueError, match="time zone"):
        list(client(None).cargo.list(created_after=datetime(2026, 1, 1)))


class Broken(httpx2.SyncByteStream):
    def __init__(self, line):
        self.line = line

    def __iter__(self):
        yield self.line
        raise httpx2.ReadError("lost")


def test_results_continue_after_the_last_line(client):
    import json

    lines = [json.dumps(GroupServer().result(str(number), "a") | {"position": number}) for number in range(3)]
    asked = []

    def handler(request):
        after = request.url.params.get("after")
        asked.append(after)
        start = 0 if after is None else int(after) + 1
        if len(asked) < 3:
            return httpx2.Response(200, stream=Broken(f"{lines[start]}\n{lines[start + 1][:5]}".encode()))
        return httpx2.Response(200, text="\n".join(lines[start:]))

    results = list(client(handler).groups.results("grp_1"))
    assert [result.position for result in results] == [0, 1, 2]
    assert asked == [None, "0", "1"]


def test_results_of_an_unknown_group_are_an_error(client):
    detail = {"error": "group_not_found", "message": "There is no such group in this project."}
    with pytest.raises(errors.NotFound):
        list(client(lambda request: httpx2.Response(404, json={"detail": detail})).groups.results("grp_1"))


def test_unknown_fields_values_and_blocks_are_kept(client):
    from server import tracking

    record = tracking("crg_1", text="a") | {"status": "TELEPORTED", "colour": "blue"}
    record["response"]["content"].append({"type": "hologram", "depth": 3})
    read = client(lambda request: httpx2.Response(200, json=record)).cargo.track("crg_1", wait=5)
    assert (read.status, read.colour) == ("TELEPORTED", "blue")
    assert read.response.content[1] == {"type": "hologram", "depth": 3}
