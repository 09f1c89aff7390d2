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

SERVER_FIELDS = {
    # Of requests that Longshore writes.
    "top_k": TypeAdapter(int),
    "thinking_token_budget": TypeAdapter(int),
    # Of `provider_options`.
    "min_p": TypeAdapter(float),
    "repetition_penalty": TypeAdapter(float),
}
"""Fields that vLLM or llama.cpp add to OpenAI's API."""


class VideoUrl(typing_extensions.TypedDict):
    url: str


class VideoPart(typing_extensions.TypedDict):
    """A part of a message that vLLM adds to OpenAI's API."""

    type: typing.Literal["video_url"]
    video_url: VideoUrl


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
    ("responses", "embedding"): adapter_of(EmbeddingCreateParams),
    ("server", "chat"): adapter_of(CompletionCreateParamsNonStreaming),
    ("server", "embedding"): adapter_of(EmbeddingCreateParams),
    ("anthropic", "chat"): adapter_of(MessageCreateParamsNonStreaming),
    ("gemini", "chat"): TypeAdapter(GeminiChat),
    ("gemini", "embedding"): TypeAdapter(GeminiEmbedding),
}
"""By API and kind of request."""

VIDEO_PART = adapter_of(VideoPart)


def faults(api, kind, body):
    """What the client's type has against a body: places and messages."""
    found = []
    if api == "anthropic":
        body = {name: value for name, value in body.items() if name not in WITHDRAWN_ANTHROPIC_FIELDS}
    if api == "server":
        body, extensions = without_extensions(body)
        for adapter, value in extensions:
            found += faults_of(adapter, value, strict=True)
    return found + faults_of(ADAPTERS[api, kind], body)


def faults_of(adapter, value, **options):
    try:
        adapter.validate_python(value, **options)
    except pydantic.ValidationError as error:
        return [f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors()]
    return []


def without_extensions(body):
    """A request to a server without what only servers have, and the values of that, each with its own type."""
    extensions = [(adapter, body[name]) for name, adapter in SERVER_FIELDS.items() if name in body]
    kept = {name: value for name, value in body.items() if name not in SERVER_FIELDS}
    if "messages" in kept:
        kept["messages"] = [dict(message) for message in kept["messages"]]
        for message in kept["messages"]:
            if isinstance(message.get("content"), list):
                videos = [part for part in message["content"] if part.get("type") == "video_url"]
                extensions += [(VIDEO_PART, part) for part in videos]
                message["content"] = [part for part in message["content"] if part not in videos]
    return kept, extensions
