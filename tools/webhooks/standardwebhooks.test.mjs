// Signed callbacks, verified with the JavaScript library of Standard Webhooks.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { Webhook, WebhookVerificationError } from "standardwebhooks";

const TOLERANCE_SECONDS = 5 * 60;
// A test must not fail because a second passes while it runs.
const MARGIN_SECONDS = 30;
const VECTORS = JSON.parse(readFileSync(new URL("vectors.json", import.meta.url), "utf8"));

/** What Longshore signs, as if the attempt had begun so long ago. */
function sign(ageSeconds = 0) {
  const seconds = Math.floor(Date.now() / 1000) - ageSeconds;
  return JSON.parse(execFileSync(process.env.SIGNED_CALLBACKS, [String(seconds)], { encoding: "utf8" }));
}

function isValid(secret, { headers, body }) {
  try {
    new Webhook(secret).verify(body, headers);
    return true;
  } catch (error) {
    assert.ok(error instanceof WebhookVerificationError, error);
    return false;
  }
}

for (const { secret, id, timestamp, body, signature } of VECTORS) {
  test(`The library signs as the vectors say: ${id}`, () => {
    const moment = new Date(Number(timestamp) * 1000);
    assert.equal(new Webhook(secret).sign(id, moment, body), signature);
  });
}

for (const [moment, old, fresh] of [
  ["before_rotation", true, false],
  ["during_rotation", true, true],
  ["after_rotation", false, true],
]) {
  test(`Secrets verify while they sign: ${moment}`, () => {
    const signed = sign();
    assert.equal(isValid(signed.old_secret, signed[moment]), old);
    assert.equal(isValid(signed.new_secret, signed[moment]), fresh);
  });
}

test("A changed byte is found", () => {
  const signed = sign();
  for (const callback of [signed.before_rotation, signed.during_rotation]) {
    for (let index = 0; index < callback.body.length; index += 1) {
      const letter = callback.body[index] === "x" ? "y" : "x";
      const body = callback.body.slice(0, index) + letter + callback.body.slice(index + 1);
      assert.equal(isValid(signed.old_secret, { ...callback, body }), false, `at ${index}`);
    }
    for (const name of ["webhook-id", "webhook-timestamp"]) {
      const value = callback.headers[name];
      // The timestamp stays within the tolerance.
      const changed = value.slice(0, -1) + (value.endsWith("1") ? "2" : "1");
      const headers = { ...callback.headers, [name]: changed };
      assert.equal(isValid(signed.old_secret, { ...callback, headers }), false, name);
    }
  }
});

test("A replay after the tolerance is rejected", () => {
  for (const direction of [1, -1]) {
    const late = sign(direction * (TOLERANCE_SECONDS + MARGIN_SECONDS));
    assert.equal(isValid(late.old_secret, late.before_rotation), false);
    const inTime = sign(direction * (TOLERANCE_SECONDS - MARGIN_SECONDS));
    assert.equal(isValid(inTime.old_secret, inTime.before_rotation), true);
  }
});
