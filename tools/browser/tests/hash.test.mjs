// The hash that pages compute is SHA-256, however the bytes are divided.

import assert from "node:assert/strict";
import { createHash, randomBytes, randomInt } from "node:crypto";
import { createRequire } from "node:module";
import { test } from "node:test";

const { Sha256, hash } = createRequire(import.meta.url)("../../../crates/dashboard/assets/hash.js");
const expected = (bytes, how = "hex") => createHash("sha256").update(bytes).digest(how);
const toHex = (digest) => Buffer.from(digest).toString("hex");

test("Every length around a block is hashed correctly", () => {
  for (let size = 0; size < 300; size++) {
    const bytes = randomBytes(size);
    assert.equal(toHex(new Sha256().update(bytes).digest()), expected(bytes), `${size} bytes`);
  }
});

test("The division into pieces does not matter", () => {
  for (let turn = 0; turn < 200; turn++) {
    const bytes = randomBytes(randomInt(100_000));
    const one = new Sha256();
    for (let at = 0; at < bytes.length;) {
      const piece = randomInt(1, 9000);
      one.update(bytes.subarray(at, at + piece));
      at += piece;
    }
    assert.equal(toHex(one.digest()), expected(bytes));
  }
});

test("A file is hashed as a whole and in parts, with progress", async () => {
  const bytes = randomBytes(5_000_001);
  for (const part of [1 << 20, 4 << 20, 16 << 20]) {
    const progress = [];
    const found = await hash(new Blob([bytes]), part, (done) => progress.push(done));
    assert.equal(found.sha256, expected(bytes));
    assert.deepEqual(found.parts, Array.from({ length: Math.ceil(bytes.length / part) }, (_, place) => expected(bytes.subarray(place * part, (place + 1) * part), "base64")));
    assert.ok(part > bytes.length || progress.at(-1) === bytes.length);
  }
});
