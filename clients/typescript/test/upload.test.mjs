import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { FileRejected, FileUploadFailed, LongshoreError } from "longshore";
import { CacheMemory, fromPath } from "longshore/node";
import { Sha256 } from "../dist/uploads/sha256.js";
import { start } from "./support/client.mjs";
import { cutAfterRequest } from "./support/fake_service.mjs";

const SMALL = Buffer.from("%PDF-1.7 small");
const LARGE = randomBytes((16 << 20) + 1234);
const storeFault = (path, answer) => (request) => (request.url.pathname.startsWith(path) ? answer() : undefined);

test("SHA-256 in pieces is SHA-256", () => {
  for (const size of [0, 1, 55, 56, 63, 64, 65, 1000, 70_001]) {
    const bytes = randomBytes(size);
    const hash = new Sha256();
    for (let at = 0; at < size; at += 37) hash.update(bytes.subarray(at, at + 37));
    assert.equal(Buffer.from(hash.digest()).toString("hex"), createHash("sha256").update(bytes).digest("hex"));
  }
});

test("A small file is one form, without the key", async () => {
  const { client, service } = start();
  const progress = [];
  const file = await client.files.upload(SMALL, { filename: "a.bin", onProgress: (each) => progress.push(each.phase) });
  assert.deepEqual([file.status, file.media_type], ["ready", "application/pdf"]);
  assert.deepEqual(service.paths(), ["POST /files", "POST /form", `POST /files/${file.id}/complete`]);
  assert.deepEqual(progress, ["hashing", "uploading", "validating"]);
});

test("A trace of requests does not see the signature of a grant", async () => {
  const urls = [];
  const { client } = start({ onRequest: ({ url }) => urls.push(url) });
  await client.files.upload(SMALL, { filename: "a.bin" });
  await client.files.upload(LARGE, { filename: "film.mp4" });
  assert.ok(urls.includes("http://store/form"));
  assert.ok(urls.every((url) => !url.includes("grant=")), urls.join(" "));
});

test("Bytes that the project has are not sent again", async () => {
  const { client, service } = start();
  const first = await client.files.upload(new File([SMALL], "bill.pdf"));
  const second = await client.files.upload(new Blob([SMALL], { type: "application/pdf" }));
  assert.equal(second.id, first.id);
  assert.equal(service.paths().filter((path) => path === "POST /form").length, 1);
});

test("A large file is sent in parts, and a lost part is sent again", async () => {
  const { client, service } = start();
  service.faults.push(undefined, cutAfterRequest);
  const file = await client.files.upload(LARGE, { filename: "film.mp4", parallel: 2 });
  assert.equal(file.status, "ready");
  assert.equal(service.paths().filter((path) => path.startsWith("PUT ")).length, 3);
});

test("A grant that has expired is signed again", async () => {
  const { client, service } = start();
  const expired = storeFault("/parts/", () => new Response("expired", { status: 403 }));
  service.faults.push(undefined, expired);
  await client.files.upload(LARGE, { filename: "film.mp4", parallel: 1 });
  assert.ok(service.paths().some((path) => /^POST \/files\/.*\/parts$/.test(path)));
});

test("An interrupted upload continues in another process", async () => {
  const folder = mkdtempSync(join(tmpdir(), "longshore-"));
  const path = join(folder, "film.mp4");
  writeFileSync(path, LARGE);
  const source = () => fromPath(path, { memory: new CacheMemory(join(folder, "cache")) });
  const { client, service } = start();
  const broken = () => new Response("broken", { status: 400 });
  service.faults.push(undefined, undefined, storeFault("/parts/", broken));
  await assert.rejects(client.files.upload(await source(), { parallel: 1 }), FileUploadFailed);
  const file = await client.files.upload(await source());
  assert.equal(file.status, "ready");
  const puts = service.paths().filter((each) => each.startsWith("PUT "));
  assert.deepEqual(puts.map((each) => each.split("/").at(-1)), ["1", "2", "2"]);
  assert.deepEqual(readdirSync(join(folder, "cache")), []);
  rmSync(folder, { recursive: true });
});

test("A remembered upload that is gone begins from the start", async () => {
  const { client, service } = start();
  const memory = new Map();
  const store = { get: async (key) => memory.get(key), set: async (key, value) => memory.set(key, value) };
  store.delete = async (key) => void memory.delete(key);
  const sha256 = createHash("sha256").update(SMALL).digest("hex");
  memory.set(sha256, { file_id: "file_gone", parts: [], started_at: 1_763_240_000_000 });
  const file = await client.files.upload(SMALL, { memory: store });
  assert.equal(file.status, "ready");
  assert.equal(service.files.size, 1);
});

test("A file that is validated is completed again until there is a verdict", async () => {
  const { client, service } = start();
  service.validates = true;
  assert.equal((await client.files.upload(SMALL)).status, "ready");
  assert.equal(service.paths().filter((path) => path.endsWith("/complete")).length, 2);
});

test("A file that is rejected throws the reason", async () => {
  const { client, service } = start();
  service.faults.push(undefined, undefined, () => {
    service.files.values().next().value.bytes = Buffer.from("other");
  });
  await assert.rejects(client.files.upload(SMALL), (error) => {
    assert.ok(error instanceof FileRejected);
    assert.equal(error.code, "checksum_mismatch");
    return true;
  });
});

test("A file of an unknown type needs its media type", async () => {
  const { client } = start();
  await assert.rejects(client.files.upload(Buffer.from([0, 1, 2])), LongshoreError);
});
