// The hash that pages compute by themselves is SHA-256, however the bytes come.

import assert from "node:assert/strict";
import { createHash, randomBytes, randomInt } from "node:crypto";
import { createRequire } from "node:module";
import { test } from "node:test";

const { Sha256, hash } = createRequire(import.meta.url)("../../../crates/dashboard/assets/hash.js");
const wanted = (bytes, how = "hex") => createHash("sha256").update(bytes).digest(how);
const shown = (digest) => Buffer.from(digest).toString("hex");

test("Every length around a block is hashed right", () => {
  for (let size = 0; size < 300; size++) {
    const bytes = randomBytes(size);
    assert.equal(shown(new Sha256().update(bytes).digest()), wanted(bytes), `${size} bytes`);
  }
});

test("It does not matter in which pieces bytes come", () => {
  for (let turn = 0; turn < 200; turn++) {
    const bytes = randomBytes(randomInt(100_000));
    const one = new Sha256();
    for (let at = 0; at < bytes.length;) {
      const piece = randomInt(1, 9000);
      one.update(bytes.subarray(at, at + piece));
      at += piece;
    }
    assert.equal(shown(one.digest()), wanted(bytes));
  }
});

test("A file is hashed whole and in parts, and says how far it is", async () => {
  const bytes = randomBytes(5_000_001);
  for (const part of [1 << 20, 4 << 20, 16 << 20]) {
    const told = [];
    const found = await hash(new Blob([bytes]), part, (done) => told.push(done));
    assert.equal(found.sha256, wanted(bytes));
    assert.deepEqual(found.parts, Array.from({ length: Math.ceil(bytes.length / part) }, (_, place) => wanted(bytes.subarray(place * part, (place + 1) * part), "base64")));
    assert.ok(part > bytes.length || told.at(-1) === bytes.length);
  }
});
