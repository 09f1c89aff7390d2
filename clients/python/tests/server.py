"""A small server in memory: cargo, groups and waiting, answered as the API answers."""

import json

import httpx2

MOMENT = "2026-11-15T09:30:00Z"
COST = {"held": 0, "charged": 0, "realtime": None, "saved": None, "currency": "USD", "scale": 9}
USAGE = {"input_tokens": 1, "output_tokens": 1}


def completion(text):
    content = [{"type": "text", "text": text}]
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "content": content,
        "model": "svc-mock",
        "stop_reason": "end_turn",
        "usage": USAGE,
    }


def tracking(cargo_id, text=None, error=None, code=None):
    is_done = text is not None or error is not None
    times = dict.fromkeys(["batched_at", "processing_at"], None)
    return times | {
        "cargo_id": cargo_id,
        "status": "COMPLETED" if is_done else "PENDING",
        "model": "svc-mock",
        "kind": "chat",
        "attempt": 1,
        "created_at": MOMENT,
        "completed_at": MOMENT if is_done else None,
        "deadline_at": MOMENT,
        "success": error is None if is_done else None,
        "response": completion(text) if text is not None else None,
        "error": error,
        "error_code": code,
        "usage": USAGE,
        "cost": COST,
        "callback": None,
        "waiting": None,
        "metadata": None,
        "erased_at": None,
    }


def group(name, cargo, is_sealed):
    return {
        "group_id": f"grp_{name}",
        "name": name,
        "status": "sealed" if is_sealed else "open",
        "created_at": MOMENT,
        "sealed_at": None,
        "cancel_requested_at": None,
        "completed_at": None,
        "counts": {"total": len(cargo), "unfinished": 0, "succeeded": 0, "failed": 0, "cancelled": 0},
        "usage": USAGE,
        "cost": COST | {"charged": 0, "realtime": 0, "saved": 0},
        "metadata": None,
        "existing": bool(cargo),
    }


class GroupServer:
    """One group. Each load is answered with its last message; `fail` in it fails, `refuse` is refused."""

    def __init__(self):
        self.cargo = {}
        self.is_sealed = False
        self.bulks = []
        self.refuse_once = set()

    def __call__(self, request):
        path = request.url.path
        if path == "/groups":
            return httpx2.Response(201, json=group(json.loads(request.content)["name"], self.cargo, False))
        if path.endswith("/seal"):
            self.is_sealed = True
            return httpx2.Response(200, json=group("g", self.cargo, True))
        if path == "/cargo/bulk":
            return httpx2.Response(200, json=self.load(json.loads(request.content)["cargo"]))
        if path.endswith("/results"):
            after = int(request.url.params["after"])
            lines = [json.dumps(line) for line in list(self.cargo.values())[after:]]
            return httpx2.Response(200, content="".join(f"{line}\n" for line in lines))
        return httpx2.Response(404, json={"detail": "Not Found"})

    def load(self, items):
        self.bulks.append(items)
        results = [self.load_item(index, item) for index, item in enumerate(items)]
        accepted = sum(result["status"] == 202 for result in results)
        return {"accepted": accepted, "refused": len(results) - accepted, "results": results}

    def load_item(self, index, item):
        custom_id, text = item["custom_id"], item["params"]["messages"][-1]["content"]
        if custom_id in self.refuse_once:
            self.refuse_once.discard(custom_id)
            detail = {"error": "rate_limit_exceeded", "message": "too fast"}
            return {"index": index, "status": 429, "detail": detail, "retry_after_seconds": 3}
        if "refuse" in text:
            return {"index": index, "status": 422, "detail": [{"type": "x", "loc": ["body"], "msg": "no"}]}
        is_replay = custom_id in self.cargo
        if not is_replay:
            self.cargo[custom_id] = self.result(custom_id, text)
        return {"index": index, "status": 202, "cargo_id": f"crg_{custom_id}", "replay": is_replay}

    def result(self, custom_id, text):
        is_failed = "fail" in text
        return {
            "number": len(self.cargo) + 1,
            "position": len(self.cargo),
            "custom_id": custom_id,
            "cargo_id": f"crg_{custom_id}",
            "success": not is_failed,
            "response": None if is_failed else completion(text),
            "error": "storm" if is_failed else None,
            "error_code": "request_rejected" if is_failed else None,
            "usage": USAGE,
            "cost": {"charged": 0},
            "model": "svc-mock",
            "created_at": MOMENT,
            "completed_at": MOMENT,
            "metadata": None,
        }
