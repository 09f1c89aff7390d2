"""Reads the schemas of openapi.json."""

from collections.abc import Iterator
from typing import Any, cast

Schema = dict[str, Any]
METHODS = ("get", "post", "put", "patch", "delete")
PREFIX = "#/components/schemas/"


def ref_name(schema: Schema) -> str | None:
    ref: str | None = schema.get("$ref")
    return ref.removeprefix(PREFIX) if ref else None


def roots(document: dict[str, Any], sources: list[str], *, of_requests: bool) -> list[str]:
    """The schemas of the bodies of these routes and of their callbacks, and those that are named."""
    prefixes = [source for source in sources if source.startswith("/")]
    found = [] if of_requests else [source for source in sources if not source.startswith("/")]
    for path, operations in document["paths"].items():
        if any(path == prefix or path.startswith(f"{prefix}/") for prefix in prefixes):
            for method, operation in operations.items():
                found += list(bodies(operation, of_requests)) if method in METHODS else []
    return list(dict.fromkeys(found))


def bodies(operation: Schema, of_requests: bool) -> Iterator[str]:
    if of_requests:
        answers: list[Schema] = [operation["requestBody"]] if "requestBody" in operation else []
    else:
        answers = [answer for status, answer in operation["responses"].items() if status.startswith("2")]
        callbacks: dict[str, Schema] = operation.get("callbacks", {})
        answers += [called["post"]["requestBody"] for each in callbacks.values() for called in each.values()]
    for answer in answers:
        for content in answer.get("content", {}).values():
            yield from references(content.get("schema", {}))


def references(schema: Any) -> Iterator[str]:
    """The names in a schema, in their order."""
    if isinstance(schema, list):
        for part in cast(list[Any], schema):
            yield from references(part)
    elif isinstance(schema, dict):
        parts = cast(Schema, schema)
        if name := ref_name(parts):
            yield name
        for key, part in parts.items():
            if key not in ("example", "examples", "description"):
                yield from references(part)


def reachable(
    schemas: dict[str, Schema], names: list[str], opaque: frozenset[str] = frozenset()
) -> list[str]:
    """These schemas and those that they need, which come first."""
    ordered: dict[str, None] = {}

    def visit(name: str) -> None:
        if name not in ordered and name not in opaque:
            for needed in references(schemas[name]):
                if needed != name:
                    visit(needed)
            ordered[name] = None

    for name in names:
        visit(name)
    return list(ordered)
