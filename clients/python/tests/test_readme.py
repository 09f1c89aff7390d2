"""The code of README.md and docs/python.md runs as it is there."""

import json
import re

import httpx2
import pytest
from generate.paths import CLIENTS, PYTHON
from server import GroupServer, tracking
from test_files import Store

PAGES = [PYTHON / "README.md", CLIENTS.parent / "docs/python.md"]
BLOCKS = [
    pytest.param(code, id=f"{page.name}-{number}")
    for page in PAGES
    for number, code in enumerate(re.findall(r"^```python\n(.*?)^```$", page.read_text(), re.DOTALL | re.MULTILINE))
]
MODELS = {"error": "invalid_model", "message": "No such model.", "supported_models": ["svc-mock"]}


class Server:
    """Enough of the API for the pages."""

    def __init__(self):
        self.group, self.store = GroupServer(), Store()
        self.loads = 0

    def __call__(self, request):
        path = request.url.path
        if path == "/cargo/load":
            self.loads += 1
            if json.loads(request.content)["params"]["model"] != "svc-mock":
                return httpx2.Response(400, json={"detail": MODELS})
            acknowledged = {"cargo_id": f"crg_{self.loads}", "status": "success", "message": ""}
            return httpx2.Response(202, json=acknowledged)
        if path == "/cargo/wait":
            ids = json.loads(request.content)["cargo_ids"]
            completed = [tracking(each, text="Hello!") for each in ids]
            return httpx2.Response(200, json={"completed": completed, "pending": [], "unknown": []})
        if path.endswith("/tracking"):
            return httpx2.Response(200, json=tracking("crg_1", text="Hello!"))
        if path.endswith("/cancel"):
            return httpx2.Response(200, json={"cargo_id": "crg_1", "status": "COMPLETED", "cancel": "cancelled"})
        if path == "/cargo":
            return httpx2.Response(200, json={"cargo": [], "next_cursor": None, "looked_until": None})
        if path.startswith("/files") or request.url.host == "store":
            return self.store(request)
        return self.group(request)


@pytest.mark.parametrize("code", BLOCKS)
def test_a_block(code, monkeypatch):
    server = Server()
    monkeypatch.setenv("LONGSHORE_API_KEY", "svc_sk_" + "k" * 32)
    monkeypatch.setenv("LONGSHORE_BASE_URL", "http://server")
    for name in ("Client", "AsyncClient"):
        kind = getattr(httpx2, name)
        transport = httpx2.MockTransport(server)
        monkeypatch.setattr(httpx2, name, lambda kind=kind, transport=transport: kind(transport=transport))
    exec(compile(code, "page", "exec"), {"__name__": "page"})
