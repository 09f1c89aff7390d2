"""Errors have classes, and carry what the API said."""

import tomllib

import httpx2
import pytest
from generate.paths import ERRORS

import longshore
from longshore import errors

ENTRIES = tomllib.loads(ERRORS.read_text())["error"]


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: f"{entry['status']} {entry.get('code')}")
def test_each_error_has_its_class(entry):
    detail = {"error": entry["code"], "message": "no"} if "code" in entry else "no"
    error = errors.api_error(entry["status"], detail)
    assert type(error) is getattr(errors, entry["class"])
    assert (error.status, error.code, error.message) == (entry["status"], entry.get("code"), "no")


@pytest.mark.parametrize(
    ("status", "kind"), [(422, "Invalid"), (502, "ServerError"), (418, "ApiError"), (429, "Backstop")]
)
def test_an_unknown_code_gets_the_class_of_its_status(status, kind):
    assert type(errors.api_error(status, {"error": "from_the_future", "message": "m"})).__name__ == kind


def test_an_error_carries_what_the_api_said(client):
    detail = {"error": "invalid_model", "message": "No such model.", "supported_models": ["svc-mock"]}
    answer = httpx2.Response(400, json={"detail": detail}, headers={"x-request-id": "req_1"})
    with pytest.raises(errors.InvalidModel) as raised:
        client(lambda request: answer).cargo.load({"model": "x", "input_text": "a"})
    assert raised.value.fields["supported_models"] == ["svc-mock"]
    assert str(raised.value) == "400 invalid_model: No such model. (request req_1)"


def test_validation_errors_name_their_fields():
    faults = [{"type": "value_error", "loc": ["body", "params"], "msg": "max_tokens is required"}]
    error = errors.api_error(422, faults)
    assert error.faults == faults
    assert str(error) == "422: body.params: max_tokens is required"


def test_the_page_of_a_proxy_is_an_error_too(client):
    answer = httpx2.Response(502, text="<html>Bad Gateway</html>")
    with pytest.raises(errors.ServerError, match="Bad Gateway"):
        client(lambda request: answer, retry_for=0).whoami()


def test_the_key_is_never_shown(client):
    made = client(lambda request: httpx2.Response(401, json={"detail": "Invalid API key."}))
    with pytest.raises(errors.Unauthenticated) as raised:
        made.whoami()
    shown = repr(made) + repr(made._options) + repr(raised.value) + str(raised.value)
    assert "svc_sk_" not in shown


def test_other_options_keep_the_rest(client):
    made = client(None, retry_for=None, timeout=7)
    assert made.with_options(timeout=9)._options.retry_for is None
    other = made.with_options(retry_for=3)._options
    assert (other.retry_for, other.timeout.read) == (3, 7)


def test_without_a_key_the_error_says_what_to_do(monkeypatch):
    monkeypatch.delenv("LONGSHORE_API_KEY", raising=False)
    with pytest.raises(longshore.LongshoreError, match="LONGSHORE_API_KEY"):
        longshore.Longshore()
