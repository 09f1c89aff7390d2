"""Runs clients/scenarios/*.toml against the server of the SCENARIO_ variables."""

import os
import secrets
import tomllib
from pathlib import Path
from typing import Any

import pytest
from scenarios.receiver import Receiver
from scenarios.steps import Steps

from longshore import ApiError, Longshore

FOLDER = Path(__file__).parents[2] / "scenarios"
FILES = sorted(FOLDER.glob("*.toml"))
# A list of allowed values, unlike other lists.
CHOICES = ("status", "cancel")


@pytest.fixture(scope="module")
def steps():
    key = os.environ["SCENARIO_API_KEY"]
    urls = [os.environ["SCENARIO_BASE_URL"], os.environ["SCENARIO_PROXY_URL"]]
    direct, through_proxy = (Longshore(key, url) for url in urls)
    return Steps(direct, through_proxy, Receiver())


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_scenario(path, steps):
    run = secrets.token_hex(4)
    for step in tomllib.loads(path.read_text())["step"]:
        step = fill(step, run)
        expect = step.get("expect", {})
        returned = call(steps, step, expects_error="code" in expect or isinstance(expect.get("status"), int))
        if "as" in step:
            steps.named[step["as"]] = returned["value"]
        for name, value in expect.items():
            assert_expected(steps, step, returned, name, value)


def call(steps: Steps, step: dict[str, Any], expects_error: bool) -> dict[str, Any]:
    try:
        return getattr(steps, step["do"])(step)
    except ApiError as error:
        if not expects_error:
            raise
        return {"status": error.status, "code": error.code}


def assert_expected(steps: Steps, step: dict[str, Any], returned: dict[str, Any], name: str, value: Any) -> None:
    if name == "same_as":
        assert returned["value"] == steps.named[value], step
    elif name == "counts":
        assert {field: returned["counts"][field] for field in value} == value, step
    elif name == "texts":
        assert returned["texts"] == [value.replace("{row}", str(row)) for row in range(step["rows"])], step
    elif name in CHOICES and isinstance(value, list):
        assert returned[name] in value, step
    else:
        assert returned[name] == value, step


def fill(value: Any, run: str) -> Any:
    """Replaces {run} in every text."""
    if isinstance(value, str):
        return value.replace("{run}", run)
    if isinstance(value, dict):
        return {name: fill(each, run) for name, each in value.items()}
    return [fill(each, run) for each in value] if isinstance(value, list) else value
