// The cases that all clients share.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { parse } from "smol-toml";
import { decideRetry } from "../dist/retry.js";

const CASES = parse(readFileSync(new URL("../../retry_cases.toml", import.meta.url), "utf8")).case;

for (const each of CASES) {
  test(each.name, () => {
    const wait = decideRetry({
      method: each.method,
      idempotencyKey: each.idempotency_key,
      idempotent: each.idempotent,
      bodySent: each.body_sent,
      status: each.status,
      code: each.code,
      retryAfter: each.retry_after,
      shouldRetry: each.should_retry,
      attempt: each.attempt,
    });
    assert.equal(wait !== undefined, each.retry);
    if (!wait) return;
    assert.ok(Math.abs(wait.shortest - each.wait_min) < 1e-9, `shortest ${wait.shortest}`);
    assert.ok(Math.abs(wait.longest - each.wait_max) < 1e-9, `longest ${wait.longest}`);
  });
}
