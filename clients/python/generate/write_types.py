"""Writes one schema as Python."""

import re
import textwrap

from generate.schemas import Schema, ref_name

PLAIN = {"string": "str", "integer": "int", "number": "float", "boolean": "bool"}
MAX_WIDTH = 116


class TypeWriter:
    """Writes types of requests, or those of responses."""

    def __init__(
        self, schemas: dict[str, Schema], *, is_request: bool, opaque: frozenset[str] = frozenset()
    ) -> None:
        self.schemas = schemas
        self.opaque = opaque
        self.is_request = is_request
        self.references: set[str] = set()
        self.variants: list[str] = []

    def write(self, name: str) -> str:
        schema = self.schemas[name]
        if "properties" in schema:
            return self.write_class(name, schema)
        if "allOf" in schema:
            return self.write_derived(name, schema)
        variants: list[str] = []
        text = ""
        for variant in schema.get("oneOf", []):
            if "properties" in variant:
                variants.append(self.variant_name(name, variant))
                text += self.write_class(variants[-1], variant)
            else:
                variants.append(self.type_of(variant))
        if variants:
            return f"{text}\n\n{name}: TypeAlias = {self.union(variants)}\n"
        return f"\n\n{wrap(f'{name}: TypeAlias = {self.type_of(schema)}')}\n"

    def variant_name(self, parent: str, schema: Schema) -> str:
        tags = [value["enum"][0] for value in schema["properties"].values() if len(value.get("enum", [])) == 1]
        words = re.split(r"[\W_]+", tags[0] if tags else schema["title"])
        tag = "".join(word.capitalize() for word in words)
        name = parent + tag if tag + parent in self.schemas else tag + parent
        self.variants.append(name)
        return name

    def write_class(self, name: str, schema: Schema, base: str | None = None) -> str:
        base = base or ("TypedDict" if self.is_request else "Response")
        lines = [f"\n\nclass {name}({base}):", *docstring(schema.get("description"))]
        required: list[str] = schema.get("required", [])
        for field, value in schema["properties"].items():
            lines.append(wrap(f"    {field}: {self.field_type(value, field in required)}"))
        return "\n".join(lines) + "\n"

    def write_derived(self, name: str, schema: Schema) -> str:
        """A class with the fields of another one."""
        bases = [base for part in schema["allOf"] if (base := ref_name(part))]
        own: Schema = {"properties": {}, "required": [], "description": schema.get("description")}
        for part in schema["allOf"]:
            own["properties"] |= part.get("properties", {})
            own["required"] += part.get("required", [])
        self.references |= set(bases)
        return self.write_class(name, own, ", ".join(bases))

    def field_type(self, schema: Schema, is_required: bool) -> str:
        kind = self.type_of(schema)
        if is_required:
            return kind
        if self.is_request:
            return f"NotRequired[{kind}]"
        return f"{kind} = None" if kind.endswith("| None") else f"{kind} | None = None"

    def type_of(self, schema: Schema) -> str:
        if name := ref_name(schema):
            return self.reference(name)
        if "oneOf" in schema:
            parts = [part for part in schema["oneOf"] if part.get("type") != "null"]
            kinds = [self.type_of(part) for part in parts]
            union = kinds[0] if len(kinds) == 1 else self.union(kinds)
            return union if len(parts) == len(schema["oneOf"]) else f"{union} | None"
        kind: str | list[str] | None = schema.get("type")
        if isinstance(kind, list):
            [one] = [each for each in kind if each != "null"]
            return f"{self.plain_type(one, schema)} | None"
        return self.plain_type(kind, schema)

    def plain_type(self, kind: str | None, schema: Schema) -> str:
        if "enum" in schema:
            return self.literal([value for value in schema["enum"] if value is not None])
        if kind == "array":
            return f"list[{self.type_of(schema['items'])}]"
        if kind == "object":
            values = schema.get("additionalProperties")
            return f"dict[str, {self.type_of(values)}]" if values else "dict[str, Any]"
        if schema.get("format") == "date-time" and not self.is_request:
            return "datetime"
        return PLAIN.get(kind or "", "Any")

    def reference(self, name: str) -> str:
        schema = self.schemas[name]
        if name in self.opaque:
            return "dict[str, Any]"
        if schema.get("format") == "date-time":
            return self.type_of(schema)
        self.references.add(name)
        return name

    def literal(self, values: list[str]) -> str:
        words = ", ".join(f'"{value}"' for value in values)
        literal = f"Literal[{words}]"
        # One value is the tag of a variant. Of several, a newer server may know more.
        return literal if self.is_request or len(values) == 1 else f"{literal} | str"

    def union(self, kinds: list[str]) -> str:
        if self.is_request or all(kind[0].islower() for kind in kinds):
            return " | ".join(kinds)
        # The last variant takes those that this client does not know.
        return f'Annotated[{" | ".join([*kinds, "dict[str, Any]"])}, Field(union_mode="left_to_right")]'


def docstring(description: str | None) -> list[str]:
    if not description:
        return []
    text = " ".join(description.split("\n\n")[0].split())
    lines = textwrap.wrap(f'"""{text}"""', MAX_WIDTH - 4)
    return [f"    {line}" for line in lines] + [""]


def wrap(line: str) -> str:
    """Breaks a long line at its outermost bracket."""
    if len(line) <= MAX_WIDTH or "[" not in line:
        return line
    indent = " " * (len(line) - len(line.lstrip()))
    head, _, rest = line.partition("[")
    inner, _, tail = rest.rpartition("]")
    body = textwrap.wrap(inner, MAX_WIDTH - len(indent) - 4)
    return "\n".join([f"{head}[", *(f"{indent}    {each}" for each in body), f"{indent}]{tail}"])
