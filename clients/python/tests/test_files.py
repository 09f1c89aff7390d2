"""Uploads: one form or parts, retried, resumed, deduplicated."""

import base64
import hashlib
import json

import httpx2
import pytest

from longshore import Longshore, errors
from longshore._upload_source import PART_BYTES

MOMENT = "2026-11-15T09:30:00Z"


class Store:
    """The API's Files routes and an object store."""

    def __init__(self, deduplicated=False, failures=()):
        self.deduplicated = deduplicated
        self.failures = list(failures)
        self.parts = {}
        self.form = None
        self.completed = None
        self.refreshed = []
        self.declared = None
        self.verdicts = [200]

    def __call__(self, request):
        path = request.url.path
        if request.url.host == "store":
            return self.store(request, path)
        body = json.loads(request.content) if request.content else None
        if path == "/files" and request.method == "POST":
            self.declared = body
            upload = None if self.deduplicated else self.grant()
            status = "ready" if self.deduplicated else "uploading"
            answer = {"id": "file_1", "status": status, "deduplicated": self.deduplicated, "upload": upload}
            return httpx2.Response(201, json=answer)
        if path == "/files/file_1/parts":
            self.refreshed.append(body)
            return httpx2.Response(200, json={"id": "file_1", "status": "uploading", "upload": self.grant(body)})
        if path == "/files/file_1/complete":
            self.completed = body
            status = self.verdicts.pop(0)
            if status == 422:
                detail = {"error": "magic_byte_mismatch", "message": "not a PNG"}
                return httpx2.Response(422, json={**detail, "detail": detail})
            return httpx2.Response(status, json=self.record("ready" if status == 200 else "validating"))
        return httpx2.Response(200, json=self.record("ready"))

    def store(self, request, path):
        assert "x-api-key" not in request.headers
        if self.failures:
            failure = self.failures.pop(0)
            if failure is None:
                raise httpx2.ReadError("lost", request=request)
            return httpx2.Response(failure, text="<Error/>")
        if path == "/form":
            self.form = request.content
            return httpx2.Response(204)
        number = int(path.removeprefix("/part/"))
        digest = base64.b64encode(hashlib.sha256(request.content).digest()).decode()
        assert request.headers["x-amz-checksum-sha256"] == digest
        self.parts[number] = len(request.content)
        return httpx2.Response(200, headers={"etag": f'"e{number}"'})

    def grant(self, body=None):
        size = self.declared["size_bytes"] if self.declared else 0
        if size <= 8 << 20:
            return {"type": "post", "url": "http://store/form", "fields": {"policy": "p"}, "expires_at": MOMENT}
        numbers = (body or {}).get("part_numbers") or range(1, -(-size // PART_BYTES) + 1)
        return {
            "type": "multipart",
            "part_size_bytes": PART_BYTES,
            "parts": [{"part_number": number, "url": f"http://store/part/{number}"} for number in numbers],
            "checksum_header": "x-amz-checksum-sha256",
            "expires_at": MOMENT,
        }

    def record(self, status):
        return {
            "id": "file_1", "status": status, "kind": "image", "filename": "a.png", "media_type": "image/png",
            "size_bytes": 1, "sha256": "0" * 64, "scan_status": "clean", "failure_reason": None,
            "ttl_seconds": 3600, "expires_at": MOMENT, "pinned": False, "active_ref_count": 0, "metadata": {},
            "created_at": MOMENT,
        }  # fmt: skip


def test_a_small_file_is_one_form(client, tmp_path):
    store = Store()
    path = tmp_path / "pixel.png"
    path.write_bytes(b"\x89PNG pixel")
    assert client(store).files.upload(path, metadata={"a": 1}).status == "ready"
    assert (store.declared["filename"], store.declared["media_type"]) == ("pixel.png", "image/png")
    assert store.declared["sha256"] == hashlib.sha256(b"\x89PNG pixel").hexdigest()
    assert "part_checksums" not in store.declared
    # The file is the last field.
    assert store.form.index(b'name="policy"') < store.form.index(b'name="file"')
    assert store.completed == {}


def test_a_large_file_is_parts_and_reports_progress(client):
    store, seen = Store(), []
    body = bytes(PART_BYTES + 5)
    client(store).files.upload(body, filename="film.mp4", progress=seen.append)
    assert store.parts == {1: PART_BYTES, 2: 5}
    assert [part["etag"] for part in store.completed["parts"]] == ['"e1"', '"e2"']
    assert [part["checksum_sha256"] for part in store.completed["parts"]] == store.declared["part_checksums"]
    uploads = [each.done for each in seen if each.phase == "uploading"]
    assert uploads[-1] == len(body) and seen[0].phase == "hashing" and seen[-1].phase == "validating"


def test_the_same_bytes_need_no_upload(client):
    store = Store(deduplicated=True)
    assert client(store).files.upload(b"%PDF-1.7").id == "file_1"
    assert store.form is None and store.declared["media_type"] == "application/pdf"


@pytest.mark.parametrize("failure", [None, 403, 503])
def test_a_failed_part_is_sent_again_with_a_new_grant(client, failure):
    store = Store(failures=[failure])
    client(store).files.upload(bytes(PART_BYTES + 5), filename="film.mp4", parallel=1)
    assert store.parts == {1: PART_BYTES, 2: 5} and store.refreshed == [{"part_numbers": [1]}]


def test_an_interrupted_upload_continues(client):
    body = bytes(PART_BYTES * 2 + 5)
    first = Store()

    def interrupt(request):
        if request.url.path in ("/part/2", "/part/3"):
            return httpx2.Response(400, text="<Error/>")
        return first(request)

    with pytest.raises(errors.FileUploadFailed, match="400"):
        client(interrupt).files.upload(body, filename="film.mp4", parallel=1)
    assert first.parts == {1: PART_BYTES}
    second = Store()
    second.declared = first.declared
    client(second).files.upload(body, filename="film.mp4")
    assert second.refreshed == [{"part_numbers": [2, 3]}] and second.parts == {2: PART_BYTES, 3: 5}
    assert [part["part_number"] for part in second.completed["parts"]] == [1, 2, 3]


def test_a_verdict_is_awaited_and_a_rejection_raised(client):
    store = Store()
    store.verdicts = [202, 202, 200]
    assert client(store).files.upload(b"%PDF").status == "ready"
    store = Store()
    store.verdicts = [422]
    with pytest.raises(errors.FileRejected, match="not a PNG") as raised:
        client(store).files.upload(b"\x89PNG")
    assert raised.value.code == "magic_byte_mismatch"


def test_an_unknown_type_is_an_error(client):
    with pytest.raises(ValueError, match="pass media_type"):
        client(Store()).files.upload(b"?", filename="what")


def test_no_redirect_of_the_object_store_is_followed(tmp_path):
    store, seen = Store(), []

    def handler(request):
        seen.append(request.url.host)
        if request.url.host == "store":
            return httpx2.Response(307, headers={"location": "http://other/form"})
        return store(request)

    http = httpx2.Client(transport=httpx2.MockTransport(handler), follow_redirects=True)
    caller = Longshore("svc_sk_" + "k" * 32, "http://server", http_client=http)
    path = tmp_path / "a.pdf"
    path.write_bytes(b"%PDF-1.7")
    with pytest.raises(errors.FileUploadFailed, match="307"):
        caller.files.upload(path)
    assert "other" not in seen
