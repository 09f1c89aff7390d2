"""Creates a bucket and waits until it works: objects.py http://KEY:SECRET@HOST:PORT/BUCKET.

The parts of a store start one after the other. It is ready when an object can be written and read.
"""

import hashlib
import hmac
import sys
import time
from datetime import datetime, timezone
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlencode, urlsplit
from urllib.request import Request, urlopen

START_TIMEOUT_SECONDS = 120


def presign(store, method, path):
    """A presigned URL: AWS signature version 4, in the query."""
    now = datetime.now(timezone.utc).strftime("%Y%m%dT%H%M%SZ")
    scope = f"{now[:8]}/us-east-1/s3/aws4_request"
    host = f"{store.hostname}:{store.port}"
    query = {
        "X-Amz-Algorithm": "AWS4-HMAC-SHA256",
        "X-Amz-Credential": f"{store.username}/{scope}",
        "X-Amz-Date": now,
        "X-Amz-Expires": "60",
        "X-Amz-SignedHeaders": "host",
    }
    query = urlencode(sorted(query.items()), quote_via=quote, safe="")
    canonical = "\n".join([method, path, query, f"host:{host}\n", "host", "UNSIGNED-PAYLOAD"])
    digest = hashlib.sha256(canonical.encode()).hexdigest()
    key = f"AWS4{store.password}".encode()
    for word in scope.split("/"):
        key = hmac.digest(key, word.encode(), "sha256")
    text = "\n".join(["AWS4-HMAC-SHA256", now, scope, digest])
    signature = hmac.digest(key, text.encode(), "sha256").hex()
    return f"http://{host}{path}?{query}&X-Amz-Signature={signature}"


def call(store, method, path, body=None):
    request = Request(presign(store, method, path), method=method, data=body)
    with urlopen(request, timeout=10) as response:
        return response.read()


def make_bucket(store):
    try:
        call(store, "PUT", store.path)
    except HTTPError as error:
        # The bucket may exist already.
        if error.code != 409:
            raise


def is_working(store):
    body = b"ready"
    make_bucket(store)
    call(store, "PUT", f"{store.path}/ready", body)
    read = call(store, "GET", f"{store.path}/ready")
    call(store, "DELETE", f"{store.path}/ready")
    return read == body


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    store = urlsplit(sys.argv[1])
    deadline = time.monotonic() + START_TIMEOUT_SECONDS
    while True:
        try:
            if is_working(store):
                return
            reason = "it returns other bytes than were written"
        except (URLError, OSError) as error:
            reason = error
        if time.monotonic() > deadline:
            sys.exit(f"the object store does not work: {reason}")
        time.sleep(0.1)


if __name__ == "__main__":
    main()
