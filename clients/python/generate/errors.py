"""The classes of errors, from clients/errors.toml."""

import tomllib
from typing import Any

from generate.paths import ERRORS

HEAD = '''# Generated from clients/errors.toml by `python -m generate`. Do not edit.
"""A class for each kind of error that the API answers."""

from longshore._error_base import ApiError
'''


def read_errors() -> list[dict[str, Any]]:
    return tomllib.loads(ERRORS.read_text())["error"]


def generated_files() -> dict[str, str]:
    entries = read_errors()
    by_class: dict[str, list[dict[str, Any]]] = {}
    for entry in entries:
        by_class.setdefault(entry["class"], []).append(entry)
    return {"_error_classes.py": HEAD + "".join(map(describe_class, by_class.items())) + tables(entries)}


def describe_class(item: tuple[str, list[dict[str, Any]]]) -> str:
    name, entries = item
    advice = list(dict.fromkeys(entry["advice"] for entry in entries))
    if len(advice) == 1:
        return f'\n\nclass {name}(ApiError):\n    """{advice[0]}"""\n'
    lines = [f"    - {describe_code(entry)}: {entry['advice']}" for entry in entries]
    return f'\n\nclass {name}(ApiError):\n    """What to do, by `code`:\n\n' + "\n".join(lines) + '\n    """\n'


def describe_code(entry: dict[str, Any]) -> str:
    return f"`{entry['code']}`" if "code" in entry else "others"


def tables(entries: list[dict[str, Any]]) -> str:
    keys = [(entry["status"], entry.get("code"), entry) for entry in entries]
    classes = [f"    ({status}, {quote(code)}): {entry['class']}," for status, code, entry in keys]
    retries = [f'    ({status}, {quote(code)}): "{entry["retry"]}",' for status, code, entry in keys]
    return "\n".join(
        [
            "\n\nCLASSES: dict[tuple[int, str | None], type[ApiError]] = {",
            *classes,
            "}",
            "",
            "RETRY_RULES: dict[tuple[int, str | None], str] = {",
            *retries,
            "}",
            "",
        ]
    )


def quote(code: str | None) -> str:
    return f'"{code}"' if code else "None"
