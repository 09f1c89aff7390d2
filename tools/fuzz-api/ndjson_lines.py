"""A check of Schemathesis: each line of an NDJSON answer is as described. Schemathesis itself reads no NDJSON."""

import functools
import json

import jsonschema_rs
import schemathesis

NDJSON = "application/x-ndjson"


@schemathesis.check
def ndjson_line_conformance(ctx, response, case):
    content_type = (response.headers.get("content-type") or [""])[0]
    if not content_type.startswith(NDJSON):
        return
    described = case.operation.definition.raw["responses"].get(str(response.status_code), {})
    schema = described.get("content", {}).get(NDJSON, {}).get("schema")
    assert schema is not None, f"NDJSON with status {response.status_code} is not described"
    validator = validator_for(json.dumps(schema), json.dumps(case.operation.schema.raw_schema["components"]))
    # Only a line feed ends a line: texts may contain other separators.
    lines = response.content.decode().split("\n")
    assert lines.pop() == "", "the last line has no line feed"
    for number, line in enumerate(lines):
        for error in validator.iter_errors(json.loads(line)):
            raise AssertionError(f"line {number} is not as described: {error.message}: {line[:500]}")


@functools.cache
def validator_for(schema, components):
    document = json.loads(schema) | {"components": json.loads(components)}
    return jsonschema_rs.Draft202012Validator(document, validate_formats=False)
