"""Every field of the clients' requests is known to a load: ours, refused, or ignored with a reason.

`load_fields.json` has the names that `params` of a load knows; a test in `crates/api` compares it with the code. A
field of a new version of a client is in none of the lists, so a caller who sends it would only get a warning, and pay
for another answer than the field asks for. Then this test fails: put the field into one of the lists in
`crates/api/src/load_validation/params_vendor_fields.rs`.
"""

import json
from pathlib import Path

import pytest
import typing_extensions
from anthropic.types.beta.message_create_params import MessageCreateParamsNonStreaming as BetaMessageParams
from anthropic.types.message_create_params import MessageCreateParamsNonStreaming
from google.genai import types as genai
from openai.types.chat.completion_create_params import CompletionCreateParamsNonStreaming
from openai.types.embedding_create_params import EmbeddingCreateParams
from openai.types.responses.response_create_params import ResponseCreateParamsNonStreaming

LISTS = json.loads((Path(__file__).parent / "load_fields.json").read_text())


def plain_spelling(name):
    """The same for each spelling of a name, as the load compares it."""
    return (name[:1] + name[1:].replace("_", "")).lower()


KNOWN = {plain_spelling(name) for names in LISTS.values() for name in names}


def unknown_fields(names):
    return [name for name in names if plain_spelling(name) not in KNOWN]


def fields_of(request):
    """The fields of a `TypedDict` or of a model of pydantic, in all its spellings."""
    if typing_extensions.is_typeddict(request):
        return list(typing_extensions.get_type_hints(request))
    aliases = [field.alias for field in request.model_fields.values() if field.alias]
    return [*request.model_fields, *aliases]


REQUESTS = {
    "OpenAI chat": CompletionCreateParamsNonStreaming,
    "OpenAI responses": ResponseCreateParamsNonStreaming,
    "OpenAI embeddings": EmbeddingCreateParams,
    "Anthropic messages": MessageCreateParamsNonStreaming,
    "Anthropic beta messages": BetaMessageParams,
    "Gemini config": genai.GenerateContentConfig,
    "Gemini generationConfig": genai.GenerationConfig,
    "Gemini embedding config": genai.EmbedContentConfig,
}


@pytest.mark.parametrize("request_type", REQUESTS.values(), ids=REQUESTS)
def test_a_load_knows_every_field_of_the_client(request_type):
    fields = fields_of(request_type)
    assert len(fields) > 4
    assert unknown_fields(fields) == []


def test_a_new_field_is_found():
    """The check itself: it finds a field that no list has, also among known ones."""
    for request_type in REQUESTS.values():
        assert unknown_fields([*fields_of(request_type), "planted_field"]) == ["planted_field"]


def test_a_field_is_in_one_list():
    names = [plain_spelling(name) for listed in LISTS.values() for name in listed]
    assert len(set(names)) == len(names)
