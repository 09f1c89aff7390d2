# Generated from openapi.json by `python -m generate`. Do not edit.
"""What requests contain."""

from typing import Any, Literal, NotRequired, TypeAlias, TypedDict


CacheTtl: TypeAlias = Literal["5m", "1h"]


class EphemeralCacheControl(TypedDict):
    ttl: NotRequired[CacheTtl | None]
    type: Literal["ephemeral"]


CacheControl: TypeAlias = EphemeralCacheControl


class Source(TypedDict):
    """A ready file of your project."""

    file_id: str


class TextToolResultBlock(TypedDict):
    text: str
    cache_control: NotRequired[CacheControl | None]
    type: Literal["text"]


class ImageToolResultBlock(TypedDict):
    source: Source
    cache_control: NotRequired[CacheControl | None]
    type: Literal["image"]


class DocumentToolResultBlock(TypedDict):
    source: Source
    cache_control: NotRequired[CacheControl | None]
    type: Literal["document"]


ToolResultBlock: TypeAlias = TextToolResultBlock | ImageToolResultBlock | DocumentToolResultBlock


ToolResultContent: TypeAlias = str | list[ToolResultBlock]


class TextBlock(TypedDict):
    text: str
    cache_control: NotRequired[CacheControl | None]
    type: Literal["text"]


class ImageBlock(TypedDict):
    source: Source
    cache_control: NotRequired[CacheControl | None]
    type: Literal["image"]


class DocumentBlock(TypedDict):
    source: Source
    cache_control: NotRequired[CacheControl | None]
    type: Literal["document"]


class VideoBlock(TypedDict):
    source: Source
    cache_control: NotRequired[CacheControl | None]
    type: Literal["video"]


class ToolUseBlock(TypedDict):
    """A call of a tool, as the answer contained it. Only in messages of the assistant."""

    id: str
    name: str
    input: dict[str, Any]
    cache_control: NotRequired[CacheControl | None]
    type: Literal["tool_use"]


class BlockToolResult(TypedDict):
    """What a tool returned, in the user's message after the call. Every call needs a result, and results are the
    first blocks of their message."""

    tool_use_id: str
    content: NotRequired[ToolResultContent | None]
    is_error: NotRequired[bool]
    cache_control: NotRequired[CacheControl | None]
    type: Literal["tool_result"]


class ThinkingBlock(TypedDict):
    """Thoughts of an earlier answer. Return them unchanged."""

    thinking: str
    signature: str
    type: Literal["thinking"]


class RedactedThinkingBlock(TypedDict):
    """Thoughts that the provider encrypted. Return them unchanged."""

    data: str
    type: Literal["redacted_thinking"]


Block: TypeAlias = TextBlock | ImageBlock | DocumentBlock | VideoBlock | ToolUseBlock | BlockToolResult | ThinkingBlock | RedactedThinkingBlock


Content: TypeAlias = str | list[Block]


class Message(TypedDict):
    """One turn of the conversation."""

    role: str
    content: Content


class TextSystemBlock(TypedDict):
    text: str
    cache_control: NotRequired[CacheControl | None]
    type: Literal["text"]


SystemBlock: TypeAlias = TextSystemBlock


System: TypeAlias = str | list[SystemBlock]


class Tool(TypedDict):
    """A function that you run. The model asks for it with a `tool_use` block."""

    name: str
    description: NotRequired[str | None]
    input_schema: dict[str, Any]
    strict: NotRequired[bool | None]
    cache_control: NotRequired[CacheControl | None]


class AutoToolChoice(TypedDict):
    """The model decides."""

    disable_parallel_tool_use: NotRequired[bool]
    type: Literal["auto"]


class AnyToolChoice(TypedDict):
    """The model calls at least one tool."""

    disable_parallel_tool_use: NotRequired[bool]
    type: Literal["any"]


class ToolToolChoice(TypedDict):
    """The model calls this tool."""

    name: str
    disable_parallel_tool_use: NotRequired[bool]
    type: Literal["tool"]


class NoneToolChoice(TypedDict):
    """The model calls no tool."""

    type: Literal["none"]


ToolChoice: TypeAlias = AutoToolChoice | AnyToolChoice | ToolToolChoice | NoneToolChoice


class JsonSchemaOutputFormat(TypedDict):
    """The text of the answer is JSON that fits the schema."""

    schema: dict[str, Any]
    name: NotRequired[str | None]
    type: Literal["json_schema"]


OutputFormat: TypeAlias = JsonSchemaOutputFormat


Effort: TypeAlias = Literal["low", "medium", "high", "xhigh", "max"]


class OutputConfig(TypedDict):
    """The form of the answer, and how hard the model tries."""

    format: NotRequired[OutputFormat | None]
    effort: NotRequired[Effort | None]


ThinkingDisplay: TypeAlias = Literal["summarized", "omitted"]


class DisabledThinking(TypedDict):
    type: Literal["disabled"]


class AdaptiveThinking(TypedDict):
    """The model decides how much it thinks."""

    display: NotRequired[ThinkingDisplay | None]
    type: Literal["adaptive"]


class EnabledThinking(TypedDict):
    """The model thinks with at most this many tokens."""

    budget_tokens: int
    display: NotRequired[ThinkingDisplay | None]
    type: Literal["enabled"]


Thinking: TypeAlias = DisabledThinking | AdaptiveThinking | EnabledThinking


class ChatParams(TypedDict):
    """A conversation to be continued."""

    model: str
    max_tokens: int
    messages: list[Message]
    system: NotRequired[System | None]
    temperature: NotRequired[float | None]
    top_p: NotRequired[float | None]
    top_k: NotRequired[int | None]
    stop_sequences: NotRequired[list[str]]
    tools: NotRequired[list[Tool]]
    tool_choice: NotRequired[ToolChoice | None]
    output_config: NotRequired[OutputConfig | None]
    thinking: NotRequired[Thinking | None]
    cache_control: NotRequired[CacheControl | None]
    seed: NotRequired[int | None]
    provider_options: NotRequired[dict[str, Any] | None]


InputText: TypeAlias = str | list[str]


EmbeddingInputType: TypeAlias = Literal["query", "document", "similarity", "classification", "clustering"]


class EmbeddingParams(TypedDict):
    """Texts to be turned into vectors."""

    model: str
    input_text: InputText
    dimensions: NotRequired[int | None]
    input_type: NotRequired[EmbeddingInputType | None]


Params: TypeAlias = ChatParams | EmbeddingParams


class LoadRequest(TypedDict):
    """One request for a model."""

    params: Params
    callback_url: NotRequired[str | None]
    metadata: NotRequired[dict[str, Any] | None]
    deadline_seconds: NotRequired[int | None]
    deadline_at: NotRequired[str | None]
    group_id: NotRequired[str | None]
    custom_id: NotRequired[str | None]
    position: NotRequired[int | None]


class BulkLoadItem(LoadRequest):
    """A load, as `POST /cargo/load` takes it, optionally with its own idempotency key."""

    idempotency_key: NotRequired[str | None]


class BulkLoadRequest(TypedDict):
    """Up to 1,000 loads. They can also be sent as NDJSON, one load per line."""

    cargo: list[BulkLoadItem]


EstimateRequest: TypeAlias = LoadRequest | BulkLoadRequest


class CargoWait(TypedDict):
    """The cargo to wait for."""

    cargo_ids: list[str]
    wait: NotRequired[int]


class CreateFile(TypedDict):
    """The declaration of the bytes. Other bytes never become a ready file."""

    filename: str
    media_type: Literal[
        "image/jpeg", "image/png", "image/gif", "image/webp", "application/pdf", "text/plain", "text/csv",
        "text/markdown", "video/mp4", "video/quicktime", "video/webm", "video/x-matroska"
    ]
    size_bytes: int
    sha256: str
    ttl_seconds: NotRequired[int | None]
    metadata: NotRequired[dict[str, Any] | None]
    part_checksums: NotRequired[list[str] | None]


class ChangeFile(TypedDict):
    """The fields to change; the others stay."""

    ttl_seconds: NotRequired[int | None]
    metadata: NotRequired[dict[str, Any] | None]
    pinned: NotRequired[bool | None]


class CompletedPart(TypedDict):
    """An uploaded part."""

    part_number: int
    etag: str
    checksum_sha256: str


class CompleteFile(TypedDict):
    """`{}` for a file that was uploaded in one POST; otherwise every part."""

    parts: NotRequired[list[CompletedPart] | None]


class RefreshParts(TypedDict):
    """Which parts need a new URL; all of them by default."""

    part_numbers: NotRequired[list[int] | None]


class CreateGroupRequest(TypedDict):
    """A new group. Every field is optional."""

    name: NotRequired[str | None]
    metadata: NotRequired[dict[str, Any] | None]
    callback_url: NotRequired[str | None]


class SealGroupRequest(TypedDict):
    """Seals a group: no new cargo is added from then on."""

    total: NotRequired[int | None]
