"""Which operations must have accepted a request in a run, so that the run has tested what is behind their checks."""

import json
import urllib.request

ALWAYS_ACCEPTED = ["POST /cargo/load", "POST /files", "GET /files", "GET /health", "GET /ready"]
"""Also in a run that is too short for the others."""

MIN_CASES_FOR_ALL = 5_000

NEVER_ACCEPTED = {
    "GET /listen": "The tunnel is switched off: each stream would stay open for an hour.",
    "POST /listen/{listener_id}/answers": "Without a stream there is no listener, and no attempt waits for an answer.",
}
"""All others must have accepted a request. Every entry has its reason."""

METHODS = {"get", "put", "post", "delete", "options", "head", "patch", "trace"}


def read_operations(base):
    """All operations of the description, such as `GET /files`."""
    with urllib.request.urlopen(f"{base}/openapi.json", timeout=60) as response:
        paths = json.load(response)["paths"]
    return {f"{method.upper()} {path}" for path, item in paths.items() for method in item if method in METHODS}


def find_faults(operations, answers, wanted_cases):
    """What is wrong with the numbers of answers by operation and status."""
    accepted = {operation for (operation, status), count in answers.items() if 200 <= status < 300 and count > 0}
    required = set(ALWAYS_ACCEPTED)
    if wanted_cases >= MIN_CASES_FOR_ALL:
        required |= operations - set(NEVER_ACCEPTED)
    faults = [f"{operation} was never accepted" for operation in sorted(required - accepted)]
    for operation in NEVER_ACCEPTED:
        if operation not in operations:
            faults.append(f"{operation} does not exist: remove it from NEVER_ACCEPTED")
        elif operation in accepted:
            faults.append(f"{operation} was accepted: remove it from NEVER_ACCEPTED")
    return faults
