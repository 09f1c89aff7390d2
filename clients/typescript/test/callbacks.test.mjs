import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { callbackRoute, InvalidSignature, MemorySeen, sign, verify } from "longshore/callbacks";

const VECTORS = JSON.parse(readFileSync(new URL("../../../tools/webhooks/vectors.json", import.meta.url), "utf8"));
const CARGO = "crg_019b76da807b774b805000000000002a";
const SECRET = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
const BODY = `{"cargo_id":"${CARGO}","success":false,"response":null,"error":"cancelled"}`;
const NOW = 1_763_240_000;
const ED25519 = {
  secret: "whpk_A6EHv/POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg=",
  signature: "v1a,sK5Ms5pZMU3X8aBklPNcVIhW8vkEj3R3I1Gg5fdwnLzEJa8rzZ3w/BxMZd/4Q3ScCHUe14KEpcSh45SQuSyvBA==",
};

const headersOf = ({ id, timestamp, signature }) => ({
  "webhook-id": id,
  "webhook-timestamp": timestamp,
  "webhook-signature": signature,
});

for (const vector of [...VECTORS, { id: CARGO, timestamp: "1763240000", body: BODY, ...ED25519 }]) {
  test(`The vectors verify: ${vector.signature.slice(0, 12)}`, async () => {
    const now = Number(vector.timestamp);
    await verify(vector.body, headersOf(vector), vector.secret, { now });
    await assert.rejects(verify(`${vector.body} `, headersOf(vector), vector.secret, { now }), InvalidSignature);
    if (!vector.secret.startsWith("whsec_")) return;
    assert.deepEqual(await sign(vector.body, vector.secret, { messageId: vector.id, timestamp: now }), headersOf(vector));
  });
}

test("Any secret and any signature may fit, and unknown versions are skipped", async () => {
  const signed = await sign(BODY, SECRET, { timestamp: NOW });
  const other = "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";
  const headers = new Headers({ ...signed, "webhook-signature": `v9,x v1,AAAA v1 ${signed["webhook-signature"]}` });
  const callback = await verify(Buffer.from(BODY), headers, [other, SECRET], { now: NOW });
  assert.equal(callback.cargo_id, CARGO);
  await assert.rejects(verify(BODY, headers, other, { now: NOW }), /no signature fits/);
  await assert.rejects(verify(BODY, headers, [], { now: NOW }), /no signature fits/);
});

test("An old callback, a missing header and a parsed body are refused with the reason", async () => {
  const signed = await sign(BODY, SECRET, { timestamp: NOW });
  await assert.rejects(verify(BODY, signed, SECRET, { now: NOW + 301 }), /301 seconds old/);
  await assert.rejects(verify(BODY, signed, SECRET, { now: NOW - 301 }), InvalidSignature);
  await assert.rejects(verify(BODY, {}, SECRET), /webhook-id is missing/);
  await assert.rejects(verify(JSON.parse(BODY), signed, SECRET), /parsed already/);
  await assert.rejects(verify(BODY, { ...signed, "webhook-timestamp": "soon" }, SECRET), /no number/);
});

test("A secret that is none is an error that does not show it", async () => {
  const signed = await sign(BODY, SECRET, { timestamp: NOW });
  const error = await verify(BODY, signed, "hunter2", { now: NOW }).catch((caught) => caught);
  assert.ok(!String(error).includes("hunter2"));
});

test("A route verifies, handles once and answers 204", async () => {
  const handled = [];
  const route = callbackRoute({ secrets: SECRET, seen: new MemorySeen() }, (callback) => void handled.push(callback.cargo_id));
  const headers = await sign(BODY, SECRET);
  const post = (body, more = headers) => route(new Request("http://receiver/hook", { method: "POST", body, headers: more }));
  assert.equal((await post(BODY)).status, 204);
  assert.equal((await post(BODY)).status, 204);
  assert.deepEqual(handled, [CARGO]);
  assert.equal((await post(`${BODY} `)).status, 401);
  const read = new Request("http://receiver/hook", { method: "POST", body: BODY, headers });
  await read.json();
  assert.equal((await route(read)).status, 400);
});

test("A route handles the callback of each group once", async () => {
  const handled = [];
  const route = callbackRoute({ secrets: SECRET, seen: new MemorySeen() }, (callback) => void handled.push(callback.group_id));
  for (const id of ["grp_1", "grp_2", "grp_1"]) {
    const body = JSON.stringify({ type: "group.completed", group_id: id });
    const headers = await sign(body, SECRET, { messageId: id });
    const request = new Request("http://receiver/hook", { method: "POST", body, headers });
    assert.equal((await route(request)).status, 204);
  }
  assert.deepEqual(handled, ["grp_1", "grp_2"]);
});

test("A route refuses large bodies, and a handler that throws is called again", async () => {
  const headers = await sign(BODY, SECRET);
  const request = () => new Request("http://receiver/hook", { method: "POST", body: BODY, headers });
  assert.equal((await callbackRoute({ secrets: SECRET, maxBytes: 10 }, () => undefined)(request())).status, 413);
  let calls = 0;
  const route = callbackRoute({ secrets: SECRET, seen: new MemorySeen() }, () => {
    calls += 1;
    if (calls === 1) throw new Error("database is down");
  });
  await assert.rejects(route(request()), /database is down/);
  assert.equal((await route(request())).status, 204);
  assert.equal(calls, 2);
});
