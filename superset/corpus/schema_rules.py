"""Schemas of which each provider refuses some, and where.

A rule has a schema and, for each dialect, the place of the first fault in it. No place: the dialect takes the schema.
"""

from typing import Any, NamedTuple

VENDORS = ("openai", "anthropic", "gemini", "server")

TEXT = {"type": "string"}
NULL = {"type": "null"}
DATA = dict[str, Any]


class SchemaRule(NamedTuple):
    name: str
    schema: DATA
    faults: dict[str, str]
    """By vendor. An empty place is the whole schema."""


def closed(properties: DATA, **more: Any) -> DATA:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
        **more,
    }


def at_property(name: str, schema: Any, places: dict[str, str], **more: Any) -> SchemaRule:
    """A rule about the only property `p`, with places below it."""
    faults = {}
    for vendor, below in places.items():
        faults[vendor] = f"properties.p.{below}" if below else "properties.p"
    return SchemaRule(name, closed({"p": schema}, **more), faults)


def by(vendors: str, place: str) -> dict[str, str]:
    """The same place for several vendors: `oag` are OpenAI, Anthropic and Gemini, `s` is a server."""
    initials = {"o": "openai", "a": "anthropic", "g": "gemini", "s": "server"}
    return {initials[initial]: place for initial in vendors}


def keyword_rules() -> list[SchemaRule]:
    """A keyword that some vendor does not take: its place is the keyword."""
    object_p = closed({"a": TEXT})
    table = [
        ("minLength", "ag", TEXT | {"minLength": 1}),
        ("maxLength", "ag", TEXT | {"maxLength": 9}),
        ("pattern", "g", TEXT | {"pattern": "^a+$"}),
        ("minimum", "a", {"type": "number", "minimum": 0}),
        ("maximum", "a", {"type": "integer", "maximum": 9}),
        ("exclusiveMinimum", "ag", {"type": "number", "exclusiveMinimum": 0}),
        ("exclusiveMaximum", "ag", {"type": "number", "exclusiveMaximum": 9}),
        ("multipleOf", "ag", {"type": "integer", "multipleOf": 2}),
        ("maxItems", "a", {"type": "array", "items": TEXT, "maxItems": 2}),
        ("uniqueItems", "oag", {"type": "array", "items": TEXT, "uniqueItems": True}),
        ("contains", "oag", {"type": "array", "items": TEXT, "contains": TEXT}),
        ("prefixItems", "oa", {"type": "array", "items": TEXT, "prefixItems": [TEXT]}),
        ("oneOf", "oa", {"oneOf": [TEXT, NULL]}),
        ("allOf", "og", {"allOf": [TEXT]}),
        ("not", "oag", TEXT | {"not": {"enum": ["a"]}}),
        ("if", "oag", TEXT | {"if": TEXT, "then": TEXT}),
        ("const", "g", {"const": "a"}),
        ("default", "o", TEXT | {"default": "a"}),
        ("examples", "oa", TEXT | {"examples": ["a"]}),
        ("readOnly", "oa", TEXT | {"readOnly": True}),
        ("deprecated", "oa", TEXT | {"deprecated": True}),
        ("$comment", "oa", TEXT | {"$comment": "x"}),
        ("contentEncoding", "oag", TEXT | {"contentEncoding": "base64"}),
        ("made_up", "oag", TEXT | {"made_up": 1}),
        ("patternProperties", "oag", object_p | {"patternProperties": {"^a": TEXT}}),
        ("propertyNames", "oag", object_p | {"propertyNames": TEXT}),
        ("minProperties", "oag", object_p | {"minProperties": 1}),
        ("unevaluatedProperties", "oag", object_p | {"unevaluatedProperties": False}),
        ("dependentRequired", "oag", object_p | {"dependentRequired": {"a": ["a"]}}),
    ]
    return [at_property(f"keyword {name}", schema, by(vendors, name)) for name, vendors, schema in table]


def value_rules() -> list[SchemaRule]:
    """A keyword that all vendors know, with a value that some do not take."""
    many = [f"v{number}" for number in range(1001)]
    long = [f"{number:060}" for number in range(300)]
    return [
        at_property("lookahead", TEXT | {"pattern": "^(?=a)"}, by("oag", "pattern")),
        at_property("backreference", TEXT | {"pattern": r"(a)\1"}, by("oag", "pattern")),
        at_property("word boundary", TEXT | {"pattern": r"\ba"}, by("ag", "pattern")),
        at_property("format uri", TEXT | {"format": "uri"}, by("o", "format")),
        at_property("format iban", TEXT | {"format": "iban"}, by("oa", "format")),
        at_property("two items", {"type": "array", "items": TEXT, "minItems": 2}, by("a", "minItems")),
        at_property("enum of null", {"enum": ["a", None]}, by("g", "enum.1")),
        at_property("enum of booleans", {"enum": [True, "a"]}, by("g", "enum.0")),
        at_property("enum of lists", {"enum": [["a"]]}, by("oag", "enum.0")),
        at_property("array without items", {"type": "array"}, by("oa", "")),
        at_property("open object", {"type": "object"}, by("oa", "")),
        at_property(
            "map",
            {"type": "object", "additionalProperties": TEXT},
            by("oa", "additionalProperties"),
        ),
        at_property(
            "declared open",
            {"type": "object", "properties": {}, "additionalProperties": True},
            by("oa", "additionalProperties"),
        ),
        at_property("no type", {}, by("oa", "")),
        at_property("boolean schema", True, by("oag", "")),
        at_property("long enum", {"enum": long}, by("o", "enum")),
        SchemaRule("many enum values", closed({"p": {"enum": many}}), by("o", "")),
    ]


def whole_schema_rules() -> list[SchemaRule]:
    deep: DATA = {"type": "string"}
    for _ in range(11):
        deep = closed({"a": deep})
    optional = {f"p{number}": TEXT for number in range(25)}
    unions = {f"p{number}": {"type": ["string", "null"]} for number in range(17)}
    one_optional = closed({"p": TEXT, "q": TEXT}) | {"required": ["q"]}
    return [
        SchemaRule("optional property", one_optional, by("o", "properties.p")),
        SchemaRule("many optional", closed(optional) | {"required": []}, by("o", "properties.p0") | by("a", "")),
        SchemaRule("many unions", closed(unions), by("a", "")),
        SchemaRule("deep", deep, by("o", "")),
        SchemaRule("unknown required", closed({"p": TEXT}) | {"required": ["p", "q"]}, by("oa", "required.1")),
    ]


def reference_rules() -> list[SchemaRule]:
    definition = {"$defs": {"x": closed({"a": TEXT})}}
    required = {"node": closed({"next": {"anyOf": [{"$ref": "#/$defs/node"}, NULL]}})}
    optional = {"node": closed({"next": {"$ref": "#/$defs/node"}}) | {"required": []}}
    root = {"p": {"$ref": "#/$defs/node"}}
    described = {"$ref": "#/$defs/x", "description": "d"}
    combined = {"allOf": [{"$ref": "#/$defs/x"}]}
    return [
        at_property("external reference", {"$ref": "https://a.example/b"}, by("oags", "$ref")),
        at_property("unresolved reference", {"$ref": "#/$defs/none"}, by("oag", "$ref")),
        at_property("described reference", described, by("og", "description"), **definition),
        at_property("reference in allOf", combined, by("og", "allOf") | by("a", "allOf.0.$ref"), **definition),
        SchemaRule(
            "required recursion",
            closed(root, **{"$defs": required}),
            by("ag", "$defs.node.properties.next.anyOf.0.$ref"),
        ),
        SchemaRule(
            "optional recursion",
            closed(root, **{"$defs": optional}),
            by("o", "$defs.node.properties.next") | by("a", "$defs.node.properties.next.$ref"),
        ),
    ]


def malformed_rules() -> list[SchemaRule]:
    """What no vendor takes, not even for a tool that is not strict."""
    table = [
        ("type", {"type": "text"}),
        ("type", {"type": []}),
        ("type", {"type": ["string", 5]}),
        ("enum", TEXT | {"enum": []}),
        ("description", TEXT | {"description": 5}),
        ("anyOf", {"anyOf": []}),
        ("items", {"type": "array", "items": [TEXT]}),
        ("required", closed({"a": TEXT}) | {"required": "a"}),
        ("properties", {"type": "object", "properties": [], "additionalProperties": False}),
        ("$ref", {"$ref": 5}),
    ]
    rules = enumerate(table)
    return [at_property(f"malformed {key} {number}", schema, by("oags", key)) for number, (key, schema) in rules]


def strict_rules() -> list[SchemaRule]:
    return [*keyword_rules(), *value_rules(), *whole_schema_rules(), *reference_rules()]


def tool_root_rules() -> list[SchemaRule]:
    """Whole schemas of tools that are unions or combinations, with the faults of a tool that is not strict."""
    schema = closed({"p": TEXT})
    return [
        SchemaRule(f"root {keyword}", schema | {keyword: [schema]}, by("oa", keyword))
        for keyword in ("anyOf", "oneOf", "allOf")
    ]


LOOSE_FAULTS = {
    "array without items": "o",
    "external reference": "oags",
    "unresolved reference": "g",
    "described reference": "g",
    "required recursion": "g",
}
"""The rules that hold for a tool that is not strict, too. OpenAI wants items of every array, and Gemini resolves the
references of every tool."""


def loose_faults(rule: SchemaRule) -> dict[str, str]:
    vendors = by(LOOSE_FAULTS.get(rule.name, ""), "")
    return {vendor: place for vendor, place in rule.faults.items() if vendor in vendors}
