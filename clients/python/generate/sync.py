"""The synchronous client: the asynchronous one with other words.

Only whole words change. What the words cannot express, such as starting a task, is in `_concurrency`,
which has both forms of each function.
"""

import re

from generate.paths import SOURCE

WORDS = {
    "async ": "",
    "await ": "",
    "_async": "_sync",
    "AsyncClient": "Client",
    "AsyncGenerator": "Generator",
    "aclosing": "closing",
    "asynccontextmanager": "contextmanager",
    "aclose": "close",
    "aiter_lines": "iter_lines",
    "anext": "next",
    "aread": "read",
    "__aenter__": "__enter__",
    "__aexit__": "__exit__",
    "__aiter__": "__iter__",
    "__anext__": "__next__",
    "StopAsyncIteration": "StopIteration",
}
PATTERN = re.compile(r"\b(async |await )|\b(\w+)\b")


def replace_word(match: re.Match[str]) -> str:
    word = match.group()
    if word in WORDS:
        return WORDS[word]
    # `AsyncLongshore` is `Longshore`, and `async_sleep` is `sleep`.
    return word.removeprefix("Async").removeprefix("async_")


def to_sync(text: str) -> str:
    return PATTERN.sub(replace_word, text)


def generated_files() -> dict[str, str]:
    notice = "# Generated from _async by `python -m generate`. Do not edit.\n"
    sources = sorted((SOURCE / "_async").glob("*.py"))
    return {f"_sync/{source.name}": notice + to_sync(source.read_text()) for source in sources}
