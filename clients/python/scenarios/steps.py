"""The steps of scenarios, done with the synchronous client. clients/scenarios/README.md describes them."""

import base64
import os
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from scenarios.receiver import Receiver

from longshore import CargoError, Longshore, user

MAX_PARALLEL_LOADS = 8
STATUS_TIMEOUT_SECONDS = 60
GROUP_TIMEOUT_SECONDS = 120


class Steps:
    """Each method is a verb. It returns what `expect` can compare, with the step's result as `value`."""

    def __init__(self, direct: Longshore, through_proxy: Longshore, receiver: Receiver) -> None:
        self.direct = direct
        self.through_proxy = through_proxy
        self.receiver = receiver
        self.named: dict[str, Any] = {}

    def client(self, step: dict[str, Any]) -> Longshore:
        return self.through_proxy if step.get("proxy") else self.direct

    def params(self, step: dict[str, Any]) -> Any:
        params = {"model": "svc-mock", "max_tokens": 64, "messages": [user(step["text"])]}
        return params | step.get("params", {})

    def options(self, step: dict[str, Any]) -> dict[str, Any]:
        options = {name: step[name] for name in ("idempotency_key", "metadata", "custom_id") if name in step}
        if "group" in step:
            options["group_id"] = self.named[step["group"]]
        if step.get("callback"):
            options["callback_url"] = self.receiver.url
        return options

    def load(self, step: dict[str, Any]) -> dict[str, Any]:
        def load(row: int) -> str:
            text = step["text"].replace("{row}", str(row))
            loaded = self.client(step).cargo.load(self.params(step | {"text": text}), **self.options(step))
            return loaded.cargo_id

        with ThreadPoolExecutor(MAX_PARALLEL_LOADS) as pool:
            loaded = list(pool.map(load, range(step.get("repeat", 1))))
        return {"value": loaded[0]}

    def bulk(self, step: dict[str, Any]) -> dict[str, Any]:
        items: list[Any] = [{"params": self.params(item)} | self.options(item) for item in step["items"]]
        answer = self.client(step).cargo.bulk(items)
        statuses = [getattr(result, "status", None) for result in answer.results]
        return {"accepted": answer.accepted, "refused": answer.refused, "statuses": statuses}

    def track(self, step: dict[str, Any]) -> dict[str, Any]:
        record = self.client(step).cargo.track(self.named[step["cargo"]], wait=step.get("wait", 0))
        return {"status": record.status, "success": record.success}

    def await_status(self, step: dict[str, Any]) -> dict[str, Any]:
        deadline = time.monotonic() + STATUS_TIMEOUT_SECONDS
        while (found := self.track(step)["status"]) not in step["status"]:
            assert time.monotonic() < deadline, f"the status is still {found}"
            time.sleep(0.2)
        return {}

    def run(self, step: dict[str, Any]) -> dict[str, Any]:
        options = {name: value for name, value in self.options(step).items() if name in ("idempotency_key", "metadata")}
        return self.answer(lambda: self.client(step).cargo.run(self.params(step), timeout=GROUP_TIMEOUT_SECONDS, **options))

    def result(self, step: dict[str, Any]) -> dict[str, Any]:
        cargo_id = self.named[step["cargo"]]
        return self.answer(lambda: self.client(step).cargo.result(cargo_id, timeout=GROUP_TIMEOUT_SECONDS))

    def answer(self, ask: Any) -> dict[str, Any]:
        try:
            return {"text": ask().text}
        except CargoError as error:
            return {"error": error.error, "error_code": error.code}

    def cancel(self, step: dict[str, Any]) -> dict[str, Any]:
        return {"cancel": self.client(step).cargo.cancel(self.named[step["cargo"]]).cancel}

    def upload(self, step: dict[str, Any]) -> dict[str, Any]:
        body = step["text"].encode() if "text" in step else base64.b64decode(step["base64"])
        body += os.urandom(step.get("random_bytes", 0))
        file = self.client(step).files.upload(body, filename=step["filename"], media_type=step["media_type"])
        return {"value": file.id, "file_status": file.status}

    def create_group(self, step: dict[str, Any]) -> dict[str, Any]:
        group = self.client(step).groups.create(step["name"])
        return {"value": group.group_id, "existing": group.existing}

    def seal_group(self, step: dict[str, Any]) -> dict[str, Any]:
        self.client(step).groups.seal(self.named[step["group"]], total=step.get("total"))
        return {}

    def await_group(self, step: dict[str, Any]) -> dict[str, Any]:
        deadline = time.monotonic() + GROUP_TIMEOUT_SECONDS
        while (group := self.client(step).groups.get(self.named[step["group"]], wait=20)).completed_at is None:
            assert time.monotonic() < deadline, f"the group is still {group.status}"
        return {"counts": group.counts.model_dump()}

    def count_cargo(self, step: dict[str, Any]) -> dict[str, Any]:
        listed = self.client(step).cargo.list(group_id=self.named[step["group"]], page_size=200)
        return {"cargo": len({cargo.cargo_id for cargo in listed})}

    def map(self, step: dict[str, Any]) -> dict[str, Any]:
        client = self.client(step)

        def request(row: int) -> Any:
            return self.params(step | {"text": step["text"].replace("{row}", str(row))})

        texts = [done.text for done in client.cargo.map(range(step["rows"]), request, name=step["name"])]
        return {"value": client.groups.create(step["name"]).group_id, "texts": texts}

    def await_callback(self, step: dict[str, Any]) -> dict[str, Any]:
        callback = self.receiver.wait(self.named[step["cargo"]])
        return {"success": callback.success, "error_code": callback.error_code}
