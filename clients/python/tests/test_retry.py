"""The cases of clients/retry_cases.toml, which all clients share, and what the transport makes of them."""

import tomllib

import httpx2
import pytest
from generate.paths import CLIENTS

from longshore import Longshore, errors
from longshore._retry import Failure, decide_retry

CASES = tomllib.loads((CLIENTS / "retry_cases.toml").read_text())["case"]
PARAMS = {"model": "svc-mock", "max_tokens": 8, "messages": [{"role": "user", "content": "é"}]}
LOADED = {"cargo_id": "crg_1", "status": "success", "message": "Cargo loaded."}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_a_case(case):
    expected = {name: case.pop(name) for name in ("name", "retry", "wait_min", "wait_max") if name in case}
    wait = decide_retry(Failure(**case))
    assert (wait is not None) == expected["retry"]
    if wait:
        bounds = (expected["wait_min"], expected["wait_max"])
        assert (wait.shortest, wait.longest) == pytest.approx(bounds)


def test_a_lost_load_is_repeated_with_the_same_key_and_bytes(client):
    seen = []

    def handler(request):
        seen.append((request.headers["idempotency-key"], request.content))
        if len(seen) < 3:
            raise httpx2.ReadError("lost", request=request)
        return httpx2.Response(202, json=LOADED)

    assert client(handler).cargo.load(PARAMS, metadata={"b": 1, "a": 2}).cargo_id == "crg_1"
    assert len(seen) == 3 and len(set(seen)) == 1
    body = '{"metadata":{"a":2,"b":1},"params":{"max_tokens":8,"messages":[{"content":"é","role":"user"}],"model":"svc-mock"}}'
    assert seen[0][1] == body.encode()


@pytest.mark.parametrize("path", ["/cargo/crg_1/tracking", "/groups/grp_1/results"])
def test_no_redirect_is_followed_with_the_key_even_by_a_client_that_follows_them(path):
    seen = []

    def handler(request):
        seen.append(str(request.url))
        return httpx2.Response(307, headers={"location": f"http://other{path}"})

    http = httpx2.Client(transport=httpx2.MockTransport(handler), follow_redirects=True)
    caller = Longshore("svc_sk_" + "k" * 32, "http://server", http_client=http, retry_for=0)
    with pytest.raises(errors.ApiError) as raised:
        if "results" in path:
            list(caller.groups.results("grp_1"))
        else:
            caller.cargo.track("crg_1")
    assert raised.value.status == 307
    assert {url.split("/")[2] for url in seen} == {"server"}


def test_a_resend_whose_answer_is_lost_is_not_repeated(client):
    calls = []

    def handler(request):
        calls.append(request)
        raise httpx2.ReadTimeout("slow", request=request)

    with pytest.raises(errors.TimedOut) as raised:
        client(handler).cargo.resend("crg_1")
    assert raised.value.maybe_accepted and len(calls) == 1


def test_a_rate_limit_waits_as_long_as_the_server_says(client, no_waiting):
    limited = {"detail": {"error": "rate_limit_exceeded", "message": "slow down", "plan": "free"}}
    answers = [httpx2.Response(429, json=limited, headers={"retry-after": "10"}), httpx2.Response(202, json=LOADED)]
    client(lambda request: answers.pop(0)).cargo.load(PARAMS)
    [waited] = no_waiting
    assert 9 <= waited <= 11


def test_retries_end_with_the_budget(client):
    limited = httpx2.Response(429, json={"detail": "Too many requests."}, headers={"retry-after": "10"})
    with pytest.raises(errors.Backstop) as raised:
        client(lambda request: limited, retry_for=5).cargo.load(PARAMS)
    assert raised.value.retry_after == 10


def test_x_should_retry_is_obeyed(client):
    calls = []

    def handler(request):
        calls.append(request)
        return httpx2.Response(503, json={"detail": "no"}, headers={"x-should-retry": "false"})

    with pytest.raises(errors.Unavailable):
        client(handler).cargo.load(PARAMS)
    assert len(calls) == 1
