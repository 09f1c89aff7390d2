"""`map`: rows in, answers out, each row loaded once."""

import asyncio

import pytest
from server import GroupServer

from longshore import LongshoreError, errors, user


def request(row):
    return {"model": "svc-mock", "max_tokens": 8, "messages": [user(f"row {row}")]}


def test_rows_come_back_in_the_order_of_the_input(client):
    server = GroupServer()
    done = list(client(server).cargo.map(range(2500), request, name="run-1"))
    assert [each.row for each in done] == list(range(2500))
    assert [each.text for each in done] == [f"row {number}" for number in range(2500)]
    assert sorted(len(bulk) for bulk in server.bulks) == [500, 1000, 1000]
    assert server.is_sealed


def test_the_asynchronous_map_is_the_same(async_client):
    server = GroupServer()

    async def main():
        rows = async_client(server).cargo.map(range(1200), request, name="run-1", order="completion")
        return [each async for each in rows]

    done = asyncio.run(main())
    assert {(each.row, each.text) for each in done} == {(number, f"row {number}") for number in range(1200)}


def test_a_second_call_with_the_same_name_loads_nothing_again(client):
    server = GroupServer()
    rows = iter(client(server).cargo.map(range(1500), request, name="run-1"))
    first = [next(rows).row for _ in range(10)]
    rows.close()
    cargo = dict(server.cargo)
    done = list(client(server).cargo.map(range(1500), request, name="run-1"))
    assert first == list(range(10)) and len(done) == 1500
    assert len(server.cargo) == 1500
    assert all(server.cargo[custom_id] is result for custom_id, result in cargo.items())


def test_keys_name_rows_whatever_their_order(client):
    server = GroupServer()
    rows = [{"id": "a"}, {"id": "b"}, {"id": "c"}]
    for given in (rows, rows[::-1]):
        done = list(client(server).cargo.map(given, lambda row: request(row["id"]), name="n", key=lambda row: row["id"]))
        assert [(each.row, each.text) for each in done] == [(row, f"row {row['id']}") for row in given]
    assert "position" not in server.bulks[0][0] and len(server.cargo) == 3


def test_two_rows_with_one_key_are_an_error(client):
    with pytest.raises(ValueError, match="two rows have the key 'x'"):
        list(client(GroupServer()).cargo.map([1, 2], request, name="n", key=lambda row: "x"))


def test_failed_and_refused_rows_have_an_error(client):
    done = list(client(GroupServer()).cargo.map(["a", "fail", "refuse"], request, name="n"))
    assert [type(each.error) for each in done] == [type(None), errors.CargoFailed, errors.Invalid]
    assert [each.text for each in done] == ["row a", "", ""]
    with pytest.raises(errors.CargoFailed, match="storm"):
        list(client(GroupServer()).cargo.map(["fail"], request, name="n", on_error="raise"))


def test_rows_beyond_the_rate_limit_are_sent_again(client, no_waiting):
    server = GroupServer()
    server.refuse_once = {"1", "2"}
    done = list(client(server).cargo.map(range(4), request, name="n"))
    assert [each.text for each in done] == [f"row {number}" for number in range(4)]
    assert [[item["custom_id"] for item in bulk] for bulk in server.bulks] == [["0", "1", "2", "3"], ["1", "2"]]
    assert 3 in no_waiting


def test_rows_need_not_be_picklable(client):
    rows = [lambda: 1, lambda: 2]
    done = list(client(GroupServer()).cargo.map(rows, lambda row: request(row()), name="n"))
    assert [each.row for each in done] == rows


def test_progress_is_reported(client):
    seen = []
    list(client(GroupServer()).cargo.map(range(3), request, name="n", progress=seen.append))
    last = seen[-1]
    assert (last.loaded, last.done, last.failed, last.total) == (3, 3, 0, 3)


def test_a_map_without_a_name_prints_one(client, capsys):
    list(client(GroupServer()).cargo.map([1], request))
    assert "pass name='map-" in capsys.readouterr().err


def test_an_error_of_a_bulk_ends_the_map(client):
    import httpx2

    server = GroupServer()

    def handler(sent):
        if sent.url.path == "/cargo/bulk":
            return httpx2.Response(403, json={"detail": "Project is inactive."})
        return server(sent)

    with pytest.raises(errors.ProjectInactive):
        list(client(handler).cargo.map([1], request, name="n"))
    assert not server.is_sealed


def test_max_cost_stops_before_the_load_that_exceeds_it(client):
    import httpx2

    server = GroupServer()
    estimate = {"items": 1000, "cost": {"likely": None, "most": 3_000_000_000}, "hold": {"scale": 9}}

    def handler(sent):
        return httpx2.Response(200, json=estimate) if sent.url.path == "/cargo/estimate" else server(sent)

    with pytest.raises(LongshoreError, match="would cost 6.0000, more than max_cost 5"):
        list(client(handler).cargo.map(range(2000), request, name="n", max_cost=5.0))
    assert len(server.cargo) <= 1000
