"""Makes a bucket and waits until it works: objects.py http://KEY:SECRET@HOST:PORT/BUCKET.

A store is ready when what was put can be got: its parts start one after the other.
"""

import hashlib
import hmac
import sys
import time
from datetime import datetime, timezone
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlencode, urlsplit
from urllib.request import Request, urlopen

PATIENCE = 60


def presigned(store, method, path):
    """A URL that is its own permission: AWS signature version 4, in the query."""
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


def ask(store, method, path, body=None):
    request = Request(presigned(store, method, path), method=method, data=body)
    with urlopen(request, timeout=10) as answer:
        return answer.read()


def make_bucket(store):
    try:
        ask(store, "PUT", store.path)
    except HTTPError as error:
        # One that is there already is as good as a new one.
        if error.code != 409:
            raise


def works(store):
    body = b"is anybody there"
    make_bucket(store)
    ask(store, "PUT", f"{store.path}/ready", body)
    answered = ask(store, "GET", f"{store.path}/ready")
    ask(store, "DELETE", f"{store.path}/ready")
    return answered == body


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    store = urlsplit(sys.argv[1])
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            if works(store):
                return
            complaint = "it returns other bytes than it was given"
        except (URLError, OSError) as error:
            complaint = error
        if time.monotonic() > deadline:
            sys.exit(f"the object store does not work: {complaint}")
        time.sleep(0.1)


if __name__ == "__main__":
    main()
