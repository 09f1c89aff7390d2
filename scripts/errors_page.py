"""docs/errors.md, from clients/errors.toml: `write` it, or `check` that it is current."""

import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/errors.md"
RETRIES = {
    "no": "no",
    "backoff": "after a backoff",
    "slow_backoff": "after `Retry-After`, or a backoff of up to a minute",
    "retry_after": "after `Retry-After`",
}
HEAD = """# Errors

Every error that the API can answer, from [clients/errors.toml](../clients/errors.toml). `./dev errors-page` rewrites this page.

An error is `{"detail": …}`. `detail` is a text, an array of validation errors, or an object with `error`, the code, and `message`. On the Files routes `error` and `message` are also at the top level. Let programs compare the status and the code together: `quota_exceeded` at 403 is storage, at 429 it is tokens. A code keeps its meaning; new codes may be added. Treat a code that you do not know like the row of its status without a code.

## When to send a request again

- Send a request again only if that is safe: it is a `GET`, `PUT` or `DELETE`, or a load with an `Idempotency-Key` and the same bytes. A 429 is always safe, because a limit is checked before anything is stored.
- `x-should-retry: false` means that a repeat gets the same answer. It is on every 409 and on the 429s that do not end soon.
- A backoff is a random time between 0 and 0.5 s, then 1 s, 2 s and so on, up to 30 s. Add up to a tenth to a `Retry-After`, so that many clients do not come back at once.
- If you got no answer after the request was sent, the same rules hold.

## All errors
"""


def render() -> str:
    """The whole page."""
    with open(ROOT / "clients/errors.toml", "rb") as file:
        errors = tomllib.load(file)["error"]
    lines = [HEAD, "| Status | Code | Again? | What to do | Class in the client libraries |", "|---|---|---|---|---|"]
    for error in sorted(errors, key=lambda it: (it["status"], it.get("code", ""))):
        code = f"`{error['code']}`" if "code" in error else "–"
        again = RETRIES[error["retry"]]
        lines.append(f"| {error['status']} | {code} | {again} | {error['advice']} | `{error['class']}` |")
    return "\n".join(lines) + "\n"


def main() -> int:
    """Writes or checks."""
    page = render()
    if sys.argv[1:] == ["write"]:
        PAGE.write_text(page)
        return 0
    if not PAGE.exists() or PAGE.read_text() != page:
        print("docs/errors.md is stale: ./dev errors-page", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
