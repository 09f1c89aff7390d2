"""Answers the requests of a file with `map`, in order. The trial `chaos run` kills it, and starts it again."""

import argparse
import json

from longshore import Longshore


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("name")
    parser.add_argument("requests")
    parser.add_argument("answers")
    arguments = parser.parse_args()
    with (
        open(arguments.requests, encoding="utf-8") as requests,
        open(arguments.answers, "w", encoding="utf-8", buffering=1) as answers,
        Longshore() as client,
    ):
        rows = (json.loads(line)["params"] for line in requests)
        for done in client.cargo.map(rows, lambda params: params, name=arguments.name):
            if done.result is None or done.error is not None:
                raise SystemExit(f"row {done.number}: {done.error}")
            content = [{"type": "text", "text": done.text}]
            answer = {"position": done.number, "cargo_id": done.result.cargo_id, "response": {"content": content}}
            print(json.dumps(answer), file=answers)


main()
