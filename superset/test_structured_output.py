"""Structured output: the answer is JSON of the caller's schema."""

import json

import pytest
from conftest import KINDS, assistant, call, chat, json_format, only_text, result, schema, tool, unique, user

WANTED = schema(
    pier={"type": "string"},
    crates={"type": "integer"},
    state={"type": "string", "enum": ["full", "empty"]},
    weights={"type": "array", "items": {"type": "number"}},
)


def parsed(response):
    assert response["stop_reason"] == "end_turn", response
    return json.loads(only_text(response))


@pytest.mark.parametrize("kind", KINDS)
def test_the_answer_is_json_of_the_schema(pro, kind):
    answer = parsed(pro.answer(chat(kind, output_config=json_format(WANTED))))
    assert answer.keys() == {"pier", "crates", "state", "weights"}
    assert isinstance(answer["pier"], str)
    assert isinstance(answer["crates"], int)
    assert answer["state"] in ("full", "empty")
    assert all(isinstance(weight, (int, float)) for weight in answer["weights"])


@pytest.mark.parametrize("kind", KINDS)
def test_objects_need_not_be_closed_by_the_caller(pro, kind):
    inner = {"type": "object", "properties": {"pier": {"type": "string"}}, "required": ["pier"]}
    wanted = {"type": "object", "properties": {"place": inner}, "required": ["place"]}
    answer = parsed(pro.answer(chat(kind, output_config=json_format(wanted))))
    assert isinstance(answer["place"]["pier"], str)


@pytest.mark.parametrize("kind", KINDS)
def test_a_schema_may_have_a_name(pro, kind):
    assert parsed(pro.answer(chat(kind, output_config=json_format(WANTED, name="stock_report"))))


@pytest.mark.parametrize("kind", KINDS)
def test_definitions_and_null_are_portable(pro, kind):
    wanted = schema(
        first={"$ref": "#/$defs/crate"},
        second={"anyOf": [{"$ref": "#/$defs/crate"}, {"type": "null"}]},
        due={"type": ["string", "null"], "format": "date"},
    )
    wanted["$defs"] = {"crate": schema(number={"type": "integer"})}
    answer = parsed(pro.answer(chat(kind, output_config=json_format(wanted))))
    assert isinstance(answer["first"]["number"], int)


@pytest.mark.parametrize("kind", KINDS)
def test_a_schema_and_tools_go_together(pro, kind):
    turns = [user(unique()), assistant([call()]), user([result()])]
    params = chat(kind, messages=turns, tools=[tool()], output_config=json_format(WANTED))
    assert parsed(pro.answer(params)).keys() == {"pier", "crates", "state", "weights"}


@pytest.mark.parametrize("kind", KINDS)
def test_json_that_was_cut_is_delivered_as_it_came(pro, kind):
    response = pro.answer(chat(kind, unique("[sim:cut]"), output_config=json_format(WANTED)))
    assert response["stop_reason"] == "max_tokens"


@pytest.mark.parametrize("kind", KINDS)
def test_a_refusal_breaks_the_schema_and_says_so(pro, kind):
    response = pro.answer(chat(kind, unique("[sim:refuse]"), output_config=json_format(WANTED)))
    assert response["stop_reason"] == "refusal"
    assert "can't help" in only_text(response)


def test_a_model_of_google_takes_a_schema_that_is_no_object(pro):
    wanted = {"type": "array", "items": {"type": "string"}}
    answer = parsed(pro.answer(chat("gemini", output_config=json_format(wanted))))
    assert all(isinstance(each, str) for each in answer)


def test_the_order_of_properties_is_the_callers(pro):
    wanted = schema(zebra={"type": "string"}, apple={"type": "string"}, mango={"type": "string"})
    answer = only_text(pro.answer(chat("chat", output_config=json_format(wanted))))
    assert answer.index("zebra") < answer.index("apple") < answer.index("mango")
