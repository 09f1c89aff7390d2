"""Deadlines: until when the caller needs the answer, and the way that a load takes for it."""

from datetime import datetime, timedelta, timezone

import pytest
from conftest import TRACKED_FIELDS, chat

MINUTE = 60
HOUR = 60 * MINUTE
DAY = 24 * HOUR


def instant(timestamp):
    return datetime.fromisoformat(timestamp)


def seconds_allowed(record):
    return (instant(record["deadline_at"]) - instant(record["created_at"])).total_seconds()


def in_seconds(seconds):
    moment = datetime.now(timezone.utc) + timedelta(seconds=seconds)
    return moment.isoformat().replace("+00:00", "Z")


@pytest.mark.parametrize("seconds", [MINUTE, HOUR, DAY])
def test_a_deadline_may_be_seconds_after_the_load(pro, seconds):
    record = pro.track(pro.load(chat("server"), deadline_seconds=seconds)["cargo_id"])
    assert abs(seconds_allowed(record) - seconds) < 5


def test_a_deadline_may_be_a_time(pro):
    moment = in_seconds(2 * HOUR)
    record = pro.track(pro.load(chat("server"), deadline_at=moment)["cargo_id"])
    assert abs((instant(record["deadline_at"]) - instant(moment)).total_seconds()) < 0.001


def test_a_deadline_may_have_an_offset(pro):
    zone = timezone(timedelta(hours=2))
    moment = (datetime.now(zone) + timedelta(hours=3)).isoformat()
    record = pro.track(pro.load(chat("server"), deadline_at=moment)["cargo_id"])
    assert abs((instant(record["deadline_at"]) - instant(moment)).total_seconds()) < 0.001


def test_without_a_deadline_it_is_24_hours(pro):
    record = pro.track(pro.load(chat("server"))["cargo_id"])
    assert abs(seconds_allowed(record) - DAY) < 5


@pytest.mark.parametrize("seconds", [0, -60, MINUTE - 1, DAY + 1])
def test_seconds_out_of_range_are_refused(pro, seconds):
    assert pro.places(chat("server"), deadline_seconds=seconds) == ["deadline_seconds"]


@pytest.mark.parametrize("seconds", ["60", 60.5, True, [60], {}])
def test_seconds_are_an_integer(pro, seconds):
    assert pro.places(chat("server"), deadline_seconds=seconds) == ["deadline_seconds"]


@pytest.mark.parametrize("seconds", [-HOUR, 30, DAY + 5 * MINUTE])
def test_a_time_out_of_range_is_refused(pro, seconds):
    assert pro.places(chat("server"), deadline_at=in_seconds(seconds)) == ["deadline_at"]


@pytest.mark.parametrize("moment", ["tomorrow", "2026-11-15", "12:00", "", "2026-11-15T12:00:00", 5])
def test_a_time_has_the_form_of_rfc_3339(pro, moment):
    assert pro.places(chat("server"), deadline_at=moment) == ["deadline_at"]


def test_only_one_of_the_two_is_given(pro):
    faults = pro.faults(chat("server"), deadline_seconds=HOUR, deadline_at=in_seconds(HOUR))
    assert [fault.place for fault in faults] == [""]
    assert "cannot be combined" in faults[0].message


def test_a_null_deadline_is_none(pro):
    pro.load(chat("server"), deadline_seconds=None, deadline_at=None)


def test_a_load_with_a_deadline_says_which_way_it_takes(pro):
    cargo = pro.load(chat("batch-or-realtime"), deadline_seconds=10 * MINUTE)["cargo_id"]
    route = pro.track(cargo)["route"]
    assert route == {"via": "realtime", "reason": "realtime_for_deadline"}


def test_a_load_with_much_time_takes_a_batch(pro):
    cargo = pro.load(chat("batch-or-realtime"), deadline_seconds=DAY)["cargo_id"]
    assert pro.track(cargo)["route"] == {"via": "batch", "reason": "batch_in_time"}


def test_a_model_with_one_way_takes_it(pro):
    cargo = pro.load(chat("server"), deadline_seconds=HOUR)["cargo_id"]
    assert pro.track(cargo)["route"] == {"via": "realtime", "reason": "only_way"}


def test_a_load_without_a_deadline_does_not_show_its_way(pro):
    record = pro.record(chat("batch-or-realtime"))
    assert record.keys() == TRACKED_FIELDS


def test_a_short_queue_takes_flex(pro):
    record = pro.record(chat("flex"))
    assert record["success"] is True
    assert record["route"] == {"via": "flex", "reason": "flex_queue_short"}


def test_flex_costs_what_a_batch_costs(pro):
    record = pro.record(chat("flex"), deadline_seconds=HOUR)
    usage = record["response"]["usage"]
    assert record["cost"]["charged"] == usage["input_tokens"] * 100 + usage["output_tokens"] * 400


@pytest.mark.parametrize("seconds", [5 * MINUTE, DAY])
def test_an_answer_arrives_before_its_deadline(pro, seconds):
    record = pro.record(chat("batch-or-realtime"), deadline_seconds=seconds)
    assert record["success"] is True
    assert instant(record["completed_at"]) < instant(record["deadline_at"])
