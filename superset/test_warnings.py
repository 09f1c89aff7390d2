"""Warnings: what was accepted and has no effect, or not the usual one."""

import pytest
from conftest import TRACKED_FIELDS, chat, text, tool, user


def test_a_load_without_oddities_has_no_warnings(pro):
    acknowledged = pro.load(chat("svc-mock"))
    assert acknowledged.keys() == {"cargo_id", "status", "message"}
    assert pro.track(acknowledged["cargo_id"]).keys() == TRACKED_FIELDS


def test_a_warning_has_a_field_a_code_and_a_message(pro):
    [warning] = pro.load(chat("svc-mock", colour="red"))["warnings"]
    assert warning.keys() == {"field", "code", "message"}
    assert warning["field"] == "params.colour"
    assert warning["code"] == "unknown_field"
    assert warning["message"].endswith(".")


@pytest.mark.parametrize(
    ("name", "value"),
    [("stream", True), ("stream", False), ("user", "u1"), ("store", True), ("metadata", {"a": 1}), ("labels", {})],
)
def test_a_field_that_does_not_change_the_answer_is_ignored_with_a_warning(pro, name, value):
    record = pro.record(chat("svc-mock", **{name: value}))
    assert record["success"] is True
    assert [warning["field"] for warning in record["warnings"]] == [f"params.{name}"]


@pytest.mark.parametrize(
    ("params", "field"),
    [
        ({"messages": [user("Hello") | {"name": "Ann"}]}, "params.messages.0.name"),
        ({"messages": [user([text("Hello", colour="red")])]}, "params.messages.0.content.0.colour"),
        ({"messages": [user([text("Hello", source={"file_id": "f"})])]}, "params.messages.0.content.0.source"),
        ({"system": [text("Be brief.", colour="red")]}, "params.system.0.colour"),
        ({"cache_control": {"type": "ephemeral", "scope": "all"}}, "params.cache_control.scope"),
    ],
)
def test_an_unknown_field_is_named_with_its_place(pro, params, field):
    assert pro.warnings(chat("svc-mock", **params)) == [(field, "unknown_field")]


def test_an_unknown_field_of_a_tool_is_named(pro):
    assert pro.warnings(chat("chat", tools=[tool(owner="me")])) == [("params.tools.0.owner", "unknown_field")]


def test_an_unknown_field_beside_params_is_named(pro):
    assert pro.warnings(chat("svc-mock"), colour="red") == [("colour", "unknown_field")]


def test_a_harmless_field_of_a_vendor_beside_params_is_named(pro):
    assert pro.warnings(chat("svc-mock"), user="u1", stream=True) == [
        ("user", "unknown_field"),
        ("stream", "unknown_field"),
    ]


def test_a_field_that_is_null_is_not_there(pro):
    names = ("tools", "tool_choice", "output_config", "thinking", "cache_control", "seed", "provider_options", "stop")
    params = chat("svc-mock") | dict.fromkeys(names)
    assert pro.warnings(params, colour=None) == []


def test_warnings_are_bounded(pro):
    params = chat("svc-mock", **{f"field_{number}": 1 for number in range(100)})
    assert len(pro.load(params)["warnings"]) == 20


def test_a_long_name_is_cut(pro):
    [warning] = pro.load(chat("svc-mock", **{"x" * 500: 1}))["warnings"]
    assert warning["field"] == "params." + "x" * 100


def test_tracking_keeps_the_warnings(pro):
    acknowledged = pro.load(chat("gpt-5", temperature=0.5, colour="red"))
    record = pro.wait(acknowledged["cargo_id"])
    assert record["warnings"] == acknowledged["warnings"]
    assert {warning["code"] for warning in record["warnings"]} == {"ignored_by_model", "unknown_field"}


def test_a_refused_load_has_only_its_faults(pro):
    answer = pro.post(chat("svc-mock", colour="red", reasoning_effort="low"))
    assert answer.status_code == 422
    assert answer.json().keys() == {"detail"}


def test_a_callback_has_no_warnings(pro, receiver):
    pro.load(chat("svc-mock", colour="red"), callback_url=receiver.url)
    [body] = receiver.wait_for(1)
    assert "warnings" not in body
