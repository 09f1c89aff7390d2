"""A request for each field of the superset, by name."""

import base64

SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
    "required": ["city", "days"],
    "additionalProperties": False,
}
TOOL = {"name": "weather", "description": "The weather of a city.", "input_schema": SCHEMA}
OTHER_TOOL = {"name": "time", "input_schema": {"type": "object", "properties": {}}}
MARK = {"type": "ephemeral"}
LONG_MARK = {"type": "ephemeral", "ttl": "1h"}
PROVIDER_OPTIONS = {
    "openai": {"verbosity": "low"},
    "anthropic": {"stop_sequences": ["END"]},
    "gemini": {"mediaResolution": "MEDIA_RESOLUTION_LOW"},
    "server": {"min_p": 0.05, "repetition_penalty": 1.1},
}


def text(words, **fields):
    return {"type": "text", "text": words, **fields}


def file(kind, file_id, **fields):
    return {"type": kind, "source": {"file_id": file_id}, **fields}


def call(call_id, name="weather", **fields):
    return {"type": "tool_use", "id": call_id, "name": name, "input": {"city": "Kiel", "days": 1}, **fields}


def result(call_id, content="Rain.", **fields):
    return {"type": "tool_result", "tool_use_id": call_id, "content": content, **fields}


def thought(kind, item=None):
    """A thought with the signature that Longshore returns for this kind of provider."""
    parts = ["sig"] if item is None else ["sig", item]
    encoded = [base64.urlsafe_b64encode(part.encode()).decode().rstrip("=") for part in parts]
    return {"type": "thinking", "thinking": "Hm.", "signature": ".".join(["v1", kind, *encoded])}


def user(content):
    return {"role": "user", "content": content}


def assistant(content):
    return {"role": "assistant", "content": content}


def chat(messages=None, **params):
    return {"model": "ours", "max_tokens": 4096, "messages": messages or [user("Hello")], **params}


def tool_loop(before=(), **params):
    """A conversation with two calls and their results; `before` are blocks before the calls."""
    turns = [
        user("Weather?"),
        assistant([*before, call("a"), call("b", "time")]),
        user([result("a"), result("b", "no clock", is_error=True), text("And now?")]),
    ]
    return chat(turns, tools=[TOOL, OTHER_TOOL], **params)


def embedding(**params):
    return {"model": "ours", "input_text": "Hello", **params}


def tool_requests():
    yield "tools", chat(tools=[TOOL, OTHER_TOOL])
    yield "strict tool", chat(tools=[TOOL | {"strict": True}])
    yield "loose tool", chat(tools=[TOOL | {"strict": False}])
    for kind in ("auto", "any", "none"):
        yield f"choice {kind}", chat(tools=[TOOL], tool_choice={"type": kind})
    yield "choice tool", chat(tools=[TOOL], tool_choice={"type": "tool", "name": "weather"})
    for choice in ({"type": "auto"}, {"type": "any"}, {"type": "tool", "name": "weather"}):
        single = choice | {"disable_parallel_tool_use": True}
        yield f"single {choice['type']}", chat(tools=[TOOL], tool_choice=single)
    yield "tool loop", tool_loop()
    yield "tool loop with text", tool_loop([text("I look.")])
    for kind in ("anthropic", "gemini", "server"):
        yield f"tool loop with a thought of {kind}", tool_loop([thought(kind)])
    yield "tool loop with a thought of openai", tool_loop([thought("openai", "rs_1")])
    content = [text("A map:"), file("image", "png"), file("document", "pdf"), file("document", "csv")]
    turns = [user("Map?"), assistant([call("a")]), user([result("a", content)])]
    yield "files in a result", chat(turns, tools=[TOOL])
    turns = [user("Weather?"), assistant([call("a")]), user([{"type": "tool_result", "tool_use_id": "a"}])]
    yield "empty result", chat(turns, tools=[TOOL])


def output_requests():
    for effort in ("low", "medium", "high", "xhigh", "max"):
        yield f"effort {effort}", chat(output_config={"effort": effort})
    output = {"type": "json_schema", "schema": SCHEMA}
    yield "format", chat(output_config={"format": output})
    yield "named format", chat(output_config={"format": output | {"name": "report"}, "effort": "low"})
    yield "format with tools", chat(output_config={"format": output}, tools=[TOOL])
    yield "thinking disabled", chat(thinking={"type": "disabled"})
    for display in (None, "summarized", "omitted"):
        shown = {} if display is None else {"display": display}
        yield f"adaptive {display}", chat(thinking={"type": "adaptive", **shown})
        yield f"enabled {display}", chat(thinking={"type": "enabled", "budget_tokens": 2048, **shown})
    yield "thinking with tools", chat(thinking={"type": "adaptive"}, tools=[TOOL])
    for kind, item in (("openai", "rs_1"), ("anthropic", None), ("gemini", None), ("server", None)):
        answer = assistant([thought(kind, item), text("It rains.")])
        yield f"thought of {kind}", chat([user("Weather?"), answer, user("Sure?")], thinking={"type": "adaptive"})
    answer = assistant([{"type": "redacted_thinking", "data": "ZGF0YQ"}, text("It rains.")])
    yield "redacted thought", chat([user("Weather?"), answer, user("Sure?")])


def cache_requests():
    yield "mark of the request", chat(cache_control=MARK)
    yield "long mark of the request", chat(cache_control=LONG_MARK)
    yield "marked system", chat(system=[text("A manual."), text("Its index.", cache_control=LONG_MARK)])
    yield "marked tool", chat(tools=[TOOL | {"cache_control": LONG_MARK}])
    yield "marked text", chat([user([text("A long question", cache_control=MARK), text("and its end.")])])
    yield "marked files", chat([user([file("image", "png", cache_control=MARK), file("document", "pdf"), text("?")])])
    turns = [
        user("Weather?"),
        assistant([call("a", cache_control=MARK)]),
        user([result("a", [text("Rain.", cache_control=MARK)], cache_control=MARK)]),
    ]
    yield "marked tool blocks", chat(turns, tools=[TOOL])
    turns = [user("Weather?"), assistant([call("a")]), user([result("a")])]
    yield "mark after a result", chat(turns, tools=[TOOL], cache_control=MARK)


def plain_requests():
    yield "plain", chat()
    yield "conversation", chat([user("Hello"), assistant("Yes?"), user([text("One."), text("Two.")])])
    yield "blocks of the assistant", chat([user("Hello"), assistant([text("Yes?"), text("What?")]), user("Nothing.")])
    yield "system", chat(system="Be brief.")
    yield "system blocks", chat(system=[text("Be brief."), text("Be kind.")])
    yield "sampling", chat(temperature=0.5, top_p=0.9, top_k=40)
    yield "stop sequences", chat(stop_sequences=["END", "STOP"])
    yield "seed", chat(seed=7)
    yield "prefill", chat([user("Count."), assistant("One, two,")])
    files = [file("image", "png"), file("document", "pdf"), file("document", "csv"), text("What is this?")]
    yield "files", chat([user(files)])
    yield "video", chat([user([file("video", "mp4"), text("What is this?")])])
    yield "image and table", chat([user([file("image", "png"), file("document", "csv"), text("What is this?")])])
    yield "options", chat(provider_options=PROVIDER_OPTIONS)


def embedding_requests():
    yield "embedding", embedding()
    yield "embeddings", embedding(input_text=["Hello", "world"])
    yield "dimensions", embedding(dimensions=256)
    for kind in ("query", "document", "similarity", "classification", "clustering"):
        yield f"input type {kind}", embedding(input_type=kind)


def sample_requests():
    makers = (plain_requests, tool_requests, output_requests, cache_requests, embedding_requests)
    return [{"name": name, "params": params} for maker in makers for name, params in maker()]
