"""Writes the settings into chart/values.schema.json: chart_schema.py [--check].

Only what is below `settings` and `secrets` is generated. The rest of the schema is written by hand.
"""

import json
import sys

from settings_table import ROOT, read_settings

SCHEMA = ROOT / "chart/values.schema.json"
PASSWORD = ":[^/@]+@|[?&]password="
"""Values are stored in plain text, so a password belongs into a Secret."""


def describe(setting):
    text = {"description": setting.help, "type": ["string", "integer"]}
    if setting.default:
        text["default"] = setting.default
    if setting.is_address:
        text["type"] = "string"
        text["not"] = {"pattern": PASSWORD}
    return text


def make_schema(schema, settings):
    """The schema with the settings of the table."""
    schema = json.loads(json.dumps(schema))
    properties = schema["properties"]
    plain = {each.name: describe(each) for each in settings if not each.is_secret}
    secrets = {
        each.name: {"description": each.help, "$ref": "#/$defs/secretKey"} for each in settings if each.can_be_file
    }
    properties["settings"]["properties"] = plain
    properties["secrets"]["properties"] = secrets
    return schema


def render(schema):
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def main():
    committed = SCHEMA.read_text()
    made = render(make_schema(json.loads(committed), read_settings()))
    if sys.argv[1:] == ["--check"]:
        if made != committed:
            sys.exit("chart/values.schema.json is stale: ./dev chart --schema")
    else:
        SCHEMA.write_text(made)


if __name__ == "__main__":
    main()
