"""The request types of the providers' own clients, made strict: a field that a type does not have is an error.

The clients declare requests as `TypedDict`s that pydantic would accept with any other field beside theirs. Here each
`TypedDict` that a request can contain forbids other fields.
"""

import collections.abc
import os
import types
import typing

import pydantic
import typing_extensions
from anthropic.types.message_create_params import MessageCreateParamsNonStreaming
from google.genai import types as genai
from openai.types.chat.completion_create_params import CompletionCreateParamsNonStreaming
from openai.types.embedding_create_params import EmbeddingCreateParams
from openai.types.responses.response_create_params import ResponseCreateParamsNonStreaming
from pydantic import ConfigDict, TypeAdapter

UNIONS = (typing.Union, types.UnionType)
QUALIFIERS = {
    typing_extensions.Required: typing_extensions.Required,
    typing_extensions.NotRequired: typing_extensions.NotRequired,
}

WITHDRAWN_ANTHROPIC_FIELDS = ("temperature", "top_p", "top_k")
"""Older models take them, but the client's type has lost them."""


class GeminiChat(pydantic.BaseModel, extra="forbid"):
    """`GenerateContentRequest`, as the client puts it together from its own types."""

    contents: list[genai.Content]
    systemInstruction: genai.Content | None = None
    tools: list[genai.Tool] | None = None
    toolConfig: genai.ToolConfig | None = None
    generationConfig: genai.GenerationConfig | None = None
    serviceTier: genai.ServiceTier | None = None


class GeminiEmbedding(pydantic.BaseModel, extra="forbid"):
    """`EmbedContentRequest`: the content, and fields of the client's config."""

    content: genai.Content
    taskType: str | None = None
    outputDimensionality: int | None = None


def forbid_other_fields(typed_dict, closed):
    """Makes a `TypedDict` and all `TypedDict`s in it strict, in place, so that recursive types work too."""
    if typed_dict in closed:
        return
    closed.add(typed_dict)
    hints = typing_extensions.get_type_hints(typed_dict, include_extras=True)
    typed_dict.__pydantic_config__ = ConfigDict(extra="forbid")
    typed_dict.__annotations__ = {name: strict(hint, closed) for name, hint in hints.items()}


def strict(hint, closed):
    """The same type, as JSON has it, with strict `TypedDict`s."""
    if typing_extensions.is_typeddict(hint):
        forbid_other_fields(hint, closed)
        return hint
    origin = typing_extensions.get_origin(hint)
    arguments = typing_extensions.get_args(hint)
    if origin is None or origin in (typing.Literal, typing_extensions.Literal):
        return hint
    if origin in (typing.Annotated, typing_extensions.Annotated):
        return strict(arguments[0], closed)
    if origin in UNIONS:
        return typing.Union[tuple(strict(each, closed) for each in arguments if not is_python_only(each))]
    if origin is collections.abc.Iterable:
        # pydantic checks an iterable only when it is read.
        return list[strict(arguments[0], closed)]
    inner = tuple(strict(each, closed) for each in arguments)
    return QUALIFIERS[origin][inner[0]] if origin in QUALIFIERS else origin[inner]


def is_python_only(hint):
    """Whether JSON cannot hold it: files, and objects of answers, which accept any field."""
    origin = typing_extensions.get_origin(hint)
    if origin in (typing.Annotated, typing_extensions.Annotated):
        return is_python_only(typing_extensions.get_args(hint)[0])
    if origin in UNIONS:
        return all(is_python_only(each) for each in typing_extensions.get_args(hint))
    bare = origin or hint
    return isinstance(bare, type) and issubclass(bare, (pydantic.BaseModel, typing.IO, os.PathLike))


def adapter_of(typed_dict):
    forbid_other_fields(typed_dict, set())
    return TypeAdapter(typed_dict)


ADAPTERS = {
    ("chat", "chat"): adapter_of(CompletionCreateParamsNonStreaming),
    ("chat", "embedding"): adapter_of(EmbeddingCreateParams),
    ("responses", "chat"): adapter_of(ResponseCreateParamsNonStreaming),
    ("anthropic", "chat"): adapter_of(MessageCreateParamsNonStreaming),
    ("gemini", "chat"): TypeAdapter(GeminiChat),
    ("gemini", "embedding"): TypeAdapter(GeminiEmbedding),
}
"""By API and kind of request."""


def faults(api, kind, body):
    """What the client's type has against a body: places and messages."""
    if api == "anthropic":
        body = {name: value for name, value in body.items() if name not in WITHDRAWN_ANTHROPIC_FIELDS}
    try:
        ADAPTERS[api, kind].validate_python(body)
    except pydantic.ValidationError as error:
        return [f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors()]
    return []
