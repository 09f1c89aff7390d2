"""The clients' types of answers, made strict.

The clients themselves accept an answer with any field of any type, so that an old client can read a newer API. Here a
value of another type, a field that no type has and an unknown name of an enumeration are faults.
"""

import enum
import json
import typing
import warnings

import pydantic
from anthropic.types import ErrorResponse, Message
from anthropic.types.messages import MessageBatch, MessageBatchIndividualResponse
from google.genai import types as genai
from openai.types import Batch, CreateEmbeddingResponse, FileObject
from openai.types.chat import ChatCompletion
from openai.types.responses import Response
from openai.types.shared import ErrorObject
from pydantic import TypeAdapter


class OpenAiError(pydantic.BaseModel, extra="allow"):
    """The body of an error. The client reads only the object in it."""

    error: ErrorObject


ADAPTERS = {
    "chat": TypeAdapter(ChatCompletion),
    "azure": TypeAdapter(ChatCompletion),
    "groq": TypeAdapter(ChatCompletion),
    "server": TypeAdapter(ChatCompletion),
    "responses": TypeAdapter(Response),
    "anthropic": TypeAdapter(Message),
    "gemini": TypeAdapter(genai.GenerateContentResponse),
    "openai embedding": TypeAdapter(CreateEmbeddingResponse),
    "server embedding": TypeAdapter(CreateEmbeddingResponse),
    "gemini embedding": TypeAdapter(genai.SingleEmbedContentResponse),
    "openai batch": TypeAdapter(Batch),
    "openai file": TypeAdapter(FileObject),
    "openai error": TypeAdapter(OpenAiError),
    "anthropic batch": TypeAdapter(MessageBatch),
    "anthropic line": TypeAdapter(MessageBatchIndividualResponse),
    "anthropic error": TypeAdapter(ErrorResponse),
}

UNTYPED_FIELDS = {
    "server": {"choices.0.stop_reason", "choices.0.message.reasoning_content"},
    "responses": {"store"},
    "gemini": {"usageMetadata.serviceTier"},
    # Google writes a number of 64 bits as a text, and the client reads it from one.
    "gemini embedding": {"tokenCount"},
}
"""Fields that providers send, but that the clients' types do not have, or not as they are sent."""


def faults(kind, body):
    """The places at which a body differs from the client's type."""
    with warnings.catch_warnings():
        # Google's client warns of an unknown name, and makes it up. `unknown_parts` finds it.
        warnings.simplefilter("ignore", UserWarning)
        try:
            parsed = ADAPTERS[kind].validate_json(json.dumps(body), strict=True)
            places = list(unknown_parts(parsed))
        except pydantic.ValidationError as error:
            places = [".".join(map(str, each["loc"])) for each in error.errors()]
        except AttributeError:
            # Google's client fails to read a name that is not a text, and does not say where.
            return ["a name of an enumeration"]
    return [place for place in places if place not in UNTYPED_FIELDS.get(kind, ())]


def unknown_parts(value, place=()):
    """Places of fields without a type, and of names that an enumeration does not have."""
    if isinstance(value, pydantic.BaseModel):
        for name in value.model_extra or ():
            yield ".".join((*place, name))
        for name, field in type(value).model_fields.items():
            yield from unknown_parts(getattr(value, name), (*place, field.alias or name))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from unknown_parts(inner, (*place, str(index)))
    elif isinstance(value, enum.Enum) and value.name not in type(value).__members__:
        yield ".".join(place)


FREE_OBJECTS = {"args", "input", "metadata"}
"""Objects with keys and values of any type."""


def wrong_bodies(body, place=()):
    """Each place of a body, and the body with a value of another type there."""
    wrong: typing.Any = {"planted": 1} if body is None else 7
    match body:
        case dict():
            for name, inner in body.items():
                inner_bodies = wrong_bodies(inner, (*place, name))
                if name in FREE_OBJECTS and isinstance(inner, dict):
                    inner_bodies = [((*place, name), 7)]
                yield from ((at, body | {name: planted}) for at, planted in inner_bodies)
        case list():
            for index, inner in enumerate(body):
                for at, planted in wrong_bodies(inner, (*place, str(index))):
                    yield at, [*body[:index], planted, *body[index + 1 :]]
        case int() | float() if not isinstance(body, bool):
            wrong = str(body)
    yield place, wrong
