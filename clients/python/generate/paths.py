"""Where the inputs and the outputs are."""

from pathlib import Path

PYTHON = Path(__file__).parents[1]
SOURCE = PYTHON / "src/longshore"
CLIENTS = PYTHON.parent
OPENAPI = CLIENTS.parent / "openapi.json"
ERRORS = CLIENTS / "errors.toml"
