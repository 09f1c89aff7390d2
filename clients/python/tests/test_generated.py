"""What is generated is current, and covers the API."""

import json
from operator import attrgetter

from generate.__main__ import generated_files
from generate.paths import OPENAPI, SOURCE

# The routes for applications, and the method of the client for each.
METHODS = {
    "POST /cargo/load": "cargo.load",
    "POST /cargo/bulk": "cargo.bulk",
    "POST /cargo/estimate": "cargo.estimate",
    "POST /cargo/wait": "cargo.wait",
    "GET /cargo": "cargo.list",
    "GET /cargo/{cargo_id}/tracking": "cargo.track",
    "GET /cargo/{cargo_id}/attempts": "cargo.attempts",
    "POST /cargo/{cargo_id}/cancel": "cargo.cancel",
    "POST /cargo/{cargo_id}/resend": "cargo.resend",
    "POST /groups": "groups.create",
    "GET /groups": "groups.list",
    "GET /groups/{group_id}": "groups.get",
    "POST /groups/{group_id}/seal": "groups.seal",
    "POST /groups/{group_id}/cancel": "groups.cancel",
    "GET /groups/{group_id}/results": "groups.results",
    "POST /files": "files.upload",
    "POST /files/{file_id}/complete": "files.upload",
    "POST /files/{file_id}/parts": "files.upload",
    "GET /files": "files.list",
    "GET /files/{file_id}": "files.get",
    "PATCH /files/{file_id}": "files.update",
    "DELETE /files/{file_id}": "files.delete",
    "GET /files/{file_id}/content": "files.content",
    "GET /models": "models.list",
    "GET /whoami": "whoami",
}
PREFIXES = {"cargo", "groups", "files", "models", "whoami"}


def test_generated_files_are_current():
    stale = [path for path, text in generated_files().items() if (SOURCE / path).read_text() != text]
    assert stale == [], "run `python -m generate` in clients/python"


def test_every_operation_has_a_method(client, async_client):
    described = {
        f"{method.upper()} {path}"
        for path, operations in json.loads(OPENAPI.read_text())["paths"].items()
        for method in operations
        if path.split("/")[1] in PREFIXES and method in ("get", "post", "patch", "delete")
    }
    assert described <= set(METHODS)
    for made in (client(None), async_client(None)):
        for method in METHODS.values():
            assert callable(attrgetter(method)(made)), method
