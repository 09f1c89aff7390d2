"""The types of requests and responses, from openapi.json.

Requests are TypedDicts, so that callers write plain dictionaries. Responses are pydantic models that keep
fields, values and kinds of blocks that they do not know, so that a newer server does not break an old client.
"""

import json
from typing import Any

from generate.paths import OPENAPI
from generate.schemas import Schema, reachable, roots
from generate.write_types import TypeWriter

# A module has the types of these routes, or this type, and what they need, unless an earlier module has it.
MODULES = {
    "completions": (["Completion"], "The answers of models."),
    "cargo": (["/cargo"], "Cargo: loading, tracking, waiting, cancelling, callbacks."),
    "groups": (["/groups"], "Groups of cargo, and their results."),
    "files": (["/files"], "Files, and the grants to upload them."),
    "account": (["/models", "/whoami"], "Models, and the identity of the key."),
}
NOTICE = "# Generated from openapi.json by `python -m generate`. Do not edit.\n"
MOMENT = "from datetime import datetime\n"
# What a caller sent comes back as a dictionary.
OPAQUE = frozenset({"Params"})


def generated_files() -> dict[str, str]:
    document = json.loads(OPENAPI.read_text())
    schemas: dict[str, Schema] = document["components"]["schemas"]
    files = {"types/requests.py": write_requests(document, schemas)}
    homes: dict[str, str] = {}
    for name, (sources, summary) in MODULES.items():
        wanted = reachable(schemas, roots(document, sources, of_requests=False), opaque=OPAQUE)
        files[f"types/{name}.py"] = write_responses(name, summary, wanted, schemas, homes)
    files["types/__init__.py"] = write_index(homes)
    return files


def write_requests(document: dict[str, Any], schemas: dict[str, Schema]) -> str:
    routes = [source for sources, _ in MODULES.values() for source in sources]
    wanted = reachable(schemas, roots(document, routes, of_requests=True))
    writer = TypeWriter(schemas, is_request=True)
    body = "".join(writer.write(name) for name in wanted)
    imports = "from typing import Any, Literal, NotRequired, TypeAlias, TypedDict\n"
    return f'{NOTICE}"""What requests contain."""\n\n{imports}{body}'


def write_responses(
    module: str, summary: str, wanted: list[str], schemas: dict[str, Schema], homes: dict[str, str]
) -> str:
    writer = TypeWriter(schemas, is_request=False, opaque=OPAQUE)
    own = [name for name in wanted if name not in homes]
    body = "".join(writer.write(name) for name in own)
    homes |= dict.fromkeys(own + writer.variants, module)
    imports = [MOMENT] if "datetime" in body else []
    typing = [word for word in ("Annotated", "Any", "Literal", "TypeAlias") if f"{word}" in body]
    imports.append(f"from typing import {', '.join(typing)}\n" if typing else "")
    imports.append("\nfrom pydantic import Field\n" if "Field(" in body else "")
    imports.append("\nfrom longshore.types._base import Response\n")
    for other in dict.fromkeys(homes.values()):
        names = sorted(name for name in writer.references if homes[name] == other)
        if other != module and names:
            imports.append(f"from longshore.types.{other} import {', '.join(names)}\n")
    return f'{NOTICE}"""{summary}"""\n\n{"".join(imports)}{body}'


def write_index(homes: dict[str, str]) -> str:
    lines = [NOTICE, '"""The types of requests and responses."""\n\n', "from longshore.types import requests\n"]
    for module in sorted(set(homes.values())):
        lines.append(f"from longshore.types.{module} import (\n")
        lines += [f"    {name},\n" for name in sorted(homes) if homes[name] == module]
        lines.append(")\n")
    lines.append('\n__all__ = [\n    "requests",\n')
    lines += [f'    "{name}",\n' for name in sorted(homes)]
    lines.append("]\n")
    return "".join(lines)
