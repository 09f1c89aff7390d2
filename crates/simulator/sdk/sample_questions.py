"""Questions for each feature of an answer, as each API is asked them."""

import dataclasses

SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}
TOOLS = ("weather", "time")
CHAT_APIS = ("chat", "azure", "groq", "server")

PROVIDERS = {"chat": "openai", "responses": "openai"}
"""The first part of the path, where it is not the name of the API."""

PATHS = {
    "chat": "/v1/chat/completions",
    "azure": "/openai/v1/chat/completions",
    "groq": "/openai/v1/chat/completions",
    "server": "/v1/chat/completions",
    "responses": "/v1/responses",
    "anthropic": "/v1/messages",
    "gemini": "/v1beta/models/gemini-sim:generateContent",
}


@dataclasses.dataclass(frozen=True)
class Question:
    text: str = "hello"
    tools: bool = False
    schema: bool = False
    thinks: bool = False
    is_flex: bool = False
    max_tokens: int = 2000
    stop: str | None = None


def directed(*directives, **fields):
    """A question with directives of the simulator."""
    return Question("".join(f"[sim:{directive}]" for directive in directives) + " hello", **fields)


QUESTIONS = {
    "plain": Question(),
    "limit": Question("word " * 20, max_tokens=16),
    "stop sequence": Question("one two three", stop="two"),
    "schema": Question(schema=True),
    "tool": directed("tool weather", tools=True),
    "parallel tools": directed("tool weather", "tool time", tools=True),
    "tool without id": directed("tool weather", "noid", tools=True),
    "tool with bad arguments": directed("badargs weather {oops", tools=True),
    "truncated tool": directed("tool weather", "cut", tools=True),
    "thinking": Question(thinks=True),
    "thinking and tool": directed("tool weather", tools=True, thinks=True),
    "thinking unasked": directed("think deep"),
    "refusal": directed("refuse"),
    "refusal without text": directed("refuse-empty"),
    "blocked": directed("blocked"),
    "truncated": directed("cut"),
    "continuation": directed("continuation"),
    "malformed": directed("abort"),
    "malformed call": directed("stop MALFORMED_FUNCTION_CALL"),
    "failed response": directed("responses-failed server_error"),
    "cached": directed("cached 100"),
    "cache write": directed("write 50"),
    "cached and written": directed("cached 100", "write 50"),
    "no usage": directed("no-usage"),
    "usage too large": directed("absurd-usage"),
    "usage of null": directed("usage null"),
    "usage of strings": directed("usage strings"),
    "usage with thoughts": directed("usage inclusive", "think deep"),
    "usage without thoughts": directed("usage exclusive", "think deep"),
    "flex": Question(is_flex=True),
}


def body_of(api, question):
    if api in CHAT_APIS:
        return chat_body(question)
    return {"responses": responses_body, "anthropic": anthropic_body, "gemini": gemini_body}[api](question)


def present(**fields):
    return {name: value for name, value in fields.items() if value is not None}


def chat_body(question):
    schema = {"name": "answer", "schema": SCHEMA, "strict": True}
    return present(
        model="gpt-sim",
        messages=[{"role": "user", "content": question.text}],
        max_completion_tokens=question.max_tokens,
        stop=question.stop,
        tools=[{"type": "function", "function": {"name": name, "parameters": SCHEMA}} for name in TOOLS]
        if question.tools
        else None,
        response_format={"type": "json_schema", "json_schema": schema} if question.schema else None,
        reasoning_effort="low" if question.thinks else None,
        service_tier="flex" if question.is_flex else None,
    )


def responses_body(question):
    tools = [{"type": "function", "name": name, "parameters": SCHEMA, "strict": True} for name in TOOLS]
    schema = {"type": "json_schema", "name": "answer", "schema": SCHEMA, "strict": True}
    return present(
        model="gpt-sim",
        input=[{"role": "user", "content": question.text}],
        max_output_tokens=question.max_tokens,
        tools=tools if question.tools else None,
        text={"format": schema} if question.schema else None,
        reasoning={"effort": "low", "summary": "auto"} if question.thinks else None,
        include=["reasoning.encrypted_content"] if question.thinks else None,
        service_tier="flex" if question.is_flex else None,
        store=False,
    )


def anthropic_body(question):
    return present(
        model="claude-sim",
        max_tokens=question.max_tokens,
        messages=[{"role": "user", "content": question.text}],
        stop_sequences=None if question.stop is None else [question.stop],
        tools=[{"name": name, "input_schema": SCHEMA} for name in TOOLS] if question.tools else None,
        output_config={"format": {"type": "json_schema", "schema": SCHEMA}} if question.schema else None,
        thinking={"type": "adaptive", "display": "summarized"} if question.thinks else None,
    )


def gemini_body(question):
    tool = {"functionDeclarations": [{"name": name, "parametersJsonSchema": SCHEMA} for name in TOOLS]}
    config = present(
        maxOutputTokens=question.max_tokens,
        stopSequences=None if question.stop is None else [question.stop],
        responseMimeType="application/json" if question.schema else None,
        responseJsonSchema=SCHEMA if question.schema else None,
        thinkingConfig={"includeThoughts": True} if question.thinks else None,
    )
    return present(
        contents=[{"role": "user", "parts": [{"text": question.text}]}],
        tools=[tool] if question.tools else None,
        generationConfig=config,
        serviceTier="flex" if question.is_flex else None,
    )
