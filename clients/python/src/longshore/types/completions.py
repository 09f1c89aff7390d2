# Generated from openapi.json by `python -m generate`. Do not edit.
"""The answers of models."""

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field

from longshore.types._base import Response


class InputTokensDetails(Response):
    """Parts of `input_tokens`."""

    cached_tokens: int | None = None
    cache_write_tokens: int | None = None


class OutputTokensDetails(Response):
    """Parts of `output_tokens`."""

    thinking_tokens: int


class Usage(Response):
    """Tokens read and written. The details are parts of the two counts, for a request with tools, `thinking`,
    `output_config` or `cache_control`, and absent if they are 0."""

    input_tokens: int
    output_tokens: int
    input_tokens_details: InputTokensDetails | None = None
    output_tokens_details: OutputTokensDetails | None = None


class EmbeddingCompletion(Response):
    """The answer to an embedding request: one vector for each text, in the order of the texts."""

    id: str
    type: str
    model: str
    embeddings: list[list[float]]
    usage: Usage


class TextCompletionBlock(Response):
    text: str
    type: Literal["text"]


class ToolUseCompletionBlock(Response):
    """The model asks you to run a tool. Load the conversation again with this block and its result."""

    id: str
    name: str
    input: dict[str, Any]
    type: Literal["tool_use"]


class ThinkingCompletionBlock(Response):
    """What the model thought. Return the block unchanged in the next turn."""

    thinking: str
    signature: str
    type: Literal["thinking"]


class RedactedThinkingCompletionBlock(Response):
    """Thoughts that the provider encrypted. Return the block unchanged in the next turn."""

    data: str
    type: Literal["redacted_thinking"]


CompletionBlock: TypeAlias = Annotated[TextCompletionBlock | ToolUseCompletionBlock | ThinkingCompletionBlock | RedactedThinkingCompletionBlock | dict[str, Any], Field(union_mode="left_to_right")]


StopReason: TypeAlias = Literal["end_turn", "max_tokens", "stop_sequence", "tool_use", "refusal"] | str


class StopDetails(Response):
    """Why the model refused."""

    category: str | None = None
    explanation: str | None = None


class ChatCompletion(Response):
    """The answer to a chat request."""

    id: str
    type: str
    role: str
    content: list[CompletionBlock]
    model: str
    stop_reason: StopReason
    stop_sequence: str | None = None
    stop_details: StopDetails | None = None
    usage: Usage


Completion: TypeAlias = Annotated[EmbeddingCompletion | ChatCompletion | dict[str, Any], Field(union_mode="left_to_right")]
