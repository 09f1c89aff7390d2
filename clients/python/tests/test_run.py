"""`run` and `result`: many callers, one loop of requests."""

import asyncio
import json
import threading
import time

import httpx2
import pytest
from server import tracking

from longshore import StillUnderWay, errors, user

PARAMS = {"model": "svc-mock", "max_tokens": 8, "messages": [user("hello")]}


class WaitServer:
    """Completes one cargo at each request, with its number as the answer."""

    def __init__(self):
        self.loaded = 0
        self.waits = []
        self.under_way = 0
        self.most_under_way = 0
        self.lock = threading.Lock()

    def __call__(self, request):
        if request.url.path == "/cargo/load":
            with self.lock:
                self.loaded += 1
                return httpx2.Response(202, json={"cargo_id": f"crg_{self.loaded}", "status": "success", "message": ""})
        ids = json.loads(request.content)["cargo_ids"]
        with self.lock:
            self.waits.append(ids)
            self.under_way += 1
            self.most_under_way = max(self.most_under_way, self.under_way)
        time.sleep(0.001)
        with self.lock:
            self.under_way -= 1
        first, *others = ids
        answer = {"completed": [tracking(first, text=f"answer {first}")], "pending": others, "unknown": []}
        return httpx2.Response(200, json=answer)


def test_a_run_is_a_load_and_its_answer(client):
    answer = client(WaitServer()).cargo.run(PARAMS)
    assert (answer.cargo_id, answer.text, answer.charged) == ("crg_1", "answer crg_1", 0)


def test_threads_share_one_request_at_a_time(client):
    server = WaitServer()
    made = client(server)
    answers = []
    threads = [threading.Thread(target=lambda: answers.append(made.cargo.run(PARAMS))) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert sorted(answer.text for answer in answers) == sorted(f"answer crg_{n}" for n in range(1, 21))
    assert server.most_under_way == 1


def test_tasks_share_one_request_at_a_time(async_client):
    server = WaitServer()

    async def handler(request):
        await asyncio.sleep(0)
        return server(request)

    async def main():
        made = async_client(handler)
        return await asyncio.gather(*(made.cargo.run(PARAMS) for _ in range(50)))

    answers = asyncio.run(main())
    assert {answer.text for answer in answers} == {f"answer crg_{n}" for n in range(1, 51)}
    assert server.most_under_way == 1 and max(len(ids) for ids in server.waits) > 1


def test_a_cancelled_leader_passes_the_lead_on(async_client):
    started = asyncio.Event()

    async def handler(request):
        ids = json.loads(request.content)["cargo_ids"]
        if "crg_2" not in ids:
            started.set()
            await asyncio.sleep(3600)
        answer = {"completed": [tracking("crg_2", text="two")], "pending": [], "unknown": []}
        return httpx2.Response(200, json=answer)

    async def main():
        made = async_client(handler)
        leader = asyncio.create_task(made.cargo.result("crg_1"))
        await started.wait()
        follower = asyncio.create_task(made.cargo.result("crg_2"))
        await asyncio.sleep(0)
        leader.cancel()
        return await asyncio.wait_for(follower, 5)

    assert asyncio.run(main()).text == "two"


def test_failures_are_raised(client):
    def answer_with(record):
        return lambda request: httpx2.Response(200, json={"completed": [record], "pending": [], "unknown": []})

    for code, kind in [
        ("request_rejected", errors.CargoFailed),
        ("cancelled", errors.CargoCancelled),
        ("deadline_exceeded", errors.DeadlineMissed),
    ]:
        record = tracking("crg_1", error="storm", code=code)
        with pytest.raises(kind, match="crg_1: storm") as raised:
            client(answer_with(record)).cargo.result("crg_1")
        assert raised.value.code == code


def test_an_unknown_cargo_is_not_found(client):
    answer = {"completed": [], "pending": [], "unknown": ["crg_1"]}
    with pytest.raises(errors.NotFound):
        client(lambda request: httpx2.Response(200, json=answer)).cargo.result("crg_1")


def test_a_timeout_leaves_the_cargo_and_can_cancel_it(client):
    cancelled = []

    def handler(request):
        if request.url.path == "/cargo/load":
            return httpx2.Response(202, json={"cargo_id": "crg_1", "status": "success", "message": ""})
        if request.url.path == "/cargo/crg_1/cancel":
            cancelled.append(request)
            return httpx2.Response(200, json={"cargo_id": "crg_1", "status": "COMPLETED", "cancel": "cancelled"})
        return httpx2.Response(200, json={"completed": [], "pending": ["crg_1"], "unknown": []})

    with pytest.raises(StillUnderWay) as raised:
        client(handler).cargo.run(PARAMS, timeout=0.05)
    assert raised.value.cargo_id == "crg_1" and not cancelled
    with pytest.raises(StillUnderWay):
        client(handler).cargo.run(PARAMS, timeout=0.05, cancel_on_exit=True)
    assert len(cancelled) == 1
