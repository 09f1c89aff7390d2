"""Embeddings: dimensions and types of input."""

import pytest


def embedding(model, input_text="Crates", **params):
    return {"model": model, "input_text": input_text, **params}


def lengths(response):
    return [len(vector) for vector in response["embeddings"]]


@pytest.mark.parametrize("model", ["embed-openai", "embed-gemini"])
@pytest.mark.parametrize("dimensions", [4, 64])
def test_vectors_have_the_wanted_length(pro, model, dimensions):
    assert lengths(pro.answer(embedding(model, dimensions=dimensions))) == [dimensions]


@pytest.mark.parametrize("model", ["embed-openai", "embed-gemini", "embed-server"])
def test_without_dimensions_the_model_chooses_the_length(pro, model):
    assert lengths(pro.answer(embedding(model))) == [8]


@pytest.mark.parametrize("kind", ["query", "document", "similarity", "classification", "clustering"])
def test_a_type_of_input_is_accepted_where_the_model_has_it(pro, kind):
    assert lengths(pro.answer(embedding("embed-gemini", input_type=kind))) == [8]


def test_several_texts_have_several_vectors(pro):
    assert lengths(pro.answer(embedding("embed-openai", ["a", "b", "c"], dimensions=16))) == [16] * 3


@pytest.mark.parametrize("model", ["embed-openai", "embed-gemini"])
@pytest.mark.parametrize("dimensions", [3, 65])
def test_dimensions_outside_of_the_models_range_are_refused(pro, model, dimensions):
    [fault] = pro.faults(embedding(model, dimensions=dimensions))
    assert (fault.place, fault.capability) == ("params.dimensions", "dimensions")


def test_a_model_with_one_length_refuses_dimensions(pro):
    [fault] = pro.faults(embedding("embed-server", dimensions=8))
    assert (fault.place, fault.capability) == ("params.dimensions", "dimensions")


@pytest.mark.parametrize("model", ["embed-openai", "embed-server"])
def test_a_model_without_types_of_input_refuses_them(pro, model):
    [fault] = pro.faults(embedding(model, input_type="query"))
    assert (fault.place, fault.capability) == ("params.input_type", "input_type")


def test_more_texts_than_the_model_takes_are_refused(pro):
    [fault] = pro.faults(embedding("embed-gemini", ["a", "b"]))
    assert (fault.place, fault.capability) == ("params.input_text", "max_inputs")
    [fault] = pro.faults(embedding("embed-openai", ["a"] * 17))
    assert (fault.place, fault.capability) == ("params.input_text", "max_inputs")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("tools", []),
        ("tool_choice", {"type": "auto"}),
        ("output_config", {}),
        ("thinking", {"type": "disabled"}),
        ("cache_control", {"type": "ephemeral"}),
        ("seed", 1),
        ("provider_options", {}),
    ],
)
def test_an_embedding_has_no_fields_of_a_chat(pro, field, value):
    assert pro.places(embedding("embed-openai", **{field: value})) == [f"params.{field}"]


def test_the_contracts_fields_of_a_chat_are_ignored_with_a_warning(pro):
    params = embedding("embed-openai", temperature=0.5, system="Be brief.")
    assert sorted(pro.warnings(params)) == [
        ("params.system", "unknown_field"),
        ("params.temperature", "unknown_field"),
    ]


def test_max_tokens_of_an_embedding_brings_no_warning(pro):
    assert pro.warnings(embedding("embed-openai", max_tokens=5)) == []


def test_the_usage_of_an_embedding_has_two_counts(pro):
    assert pro.answer(embedding("embed-openai"))["usage"].keys() == {"input_tokens", "output_tokens"}
