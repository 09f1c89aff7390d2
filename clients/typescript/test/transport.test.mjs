import assert from "node:assert/strict";
import { test } from "node:test";
import { inspect } from "node:util";
import * as longshore from "longshore";
import { toJson } from "../dist/json.js";
import { collect, KEY, params, start } from "./support/client.mjs";
import { cutAfterRequest, notConnected, refuse } from "./support/fake_service.mjs";

test("A load whose answer is lost is repeated with the same key and bytes, and is one cargo", async () => {
  const { client, service } = start();
  service.faults.push(cutAfterRequest, cutAfterRequest);
  const { cargo_id } = await client.cargo.load(params("hello"), { metadata: { b: 1, a: 2 } });
  const [first, ...others] = service.requests;
  assert.equal(service.cargo.size, 1);
  assert.ok(service.cargo.has(cargo_id));
  assert.equal(others.length, 2);
  for (const other of others) assert.deepEqual([other.key, other.body], [first.key, first.body]);
});

test("JSON has sorted keys and no spaces", () => {
  const value = { b: [{ d: 1, c: undefined }], a: "ü", at: new Date(0), __proto__: null };
  assert.equal(toJson(value), '{"a":"ü","at":"1970-01-01T00:00:00.000Z","b":[{"d":1}]}');
});

test("Headers name the key and the client", async () => {
  const { client, service } = start();
  await client.whoami();
  const [{ headers }] = service.requests;
  assert.equal(headers.get("x-api-key"), KEY);
  assert.equal(headers.get("user-agent"), `longshore-node/${longshore.VERSION}`);
});

test("A rate limit waits for Retry-After", async () => {
  const { client, service, timing } = start();
  const detail = { error: "rate_limit_exceeded", message: "slow" };
  service.faults.push(() => refuse(429, detail, { "retry-after": "10" }));
  await client.whoami();
  assert.deepEqual(timing.sleeps, [10_000]);
});

test("Retries end when the budget of time is used up", async () => {
  const { client, service, timing } = start({ retryFor: 5 });
  service.faults = Array.from({ length: 50 }, () => notConnected);
  await assert.rejects(client.whoami(), (error) => {
    assert.ok(error instanceof longshore.NotConnected);
    assert.equal(error.maybeAccepted, false);
    return true;
  });
  assert.ok(timing.sleeps.reduce((sum, each) => sum + each, 0) <= 5000);
});

test("A known error has its class, its fields and the id of the request", async () => {
  const { client, service } = start();
  const detail = { error: "invalid_model", message: "No such model.", supported_models: ["svc-mock"] };
  service.faults.push(() => refuse(400, detail, { "x-request-id": "req_1" }));
  await assert.rejects(client.cargo.load(params("x")), (error) => {
    assert.ok(error instanceof longshore.InvalidModel && error instanceof longshore.ApiError);
    assert.deepEqual(error.fields.supported_models, ["svc-mock"]);
    assert.equal(error.message, "400 invalid_model: No such model. (request req_1)");
    return true;
  });
});

test("quota_exceeded is tokens at 429 and storage at 403", async () => {
  const { client, service } = start();
  const detail = { error: "quota_exceeded", message: "used up" };
  service.faults.push(() => refuse(429, detail), () => refuse(403, detail));
  await assert.rejects(client.whoami(), longshore.TokenQuotaExceeded);
  await assert.rejects(client.whoami(), longshore.StorageQuotaExceeded);
});

test("An unknown code has the class of its status, and an unknown status is an ApiError", async () => {
  const { client, service } = start({ retryFor: 0 });
  service.faults.push(() => refuse(409, { error: "new", message: "" }), () => refuse(404, { error: "new", message: "" }));
  service.faults.push(() => refuse(502, "bad gateway"), () => new Response("<html>", { status: 418 }));
  await assert.rejects(client.whoami(), longshore.ApiError);
  await assert.rejects(client.whoami(), longshore.NotFound);
  await assert.rejects(client.whoami(), longshore.ServerError);
  await assert.rejects(client.whoami(), /418: <html>/);
});

test("Validation errors are listed", async () => {
  const { client } = start();
  await assert.rejects(client.cargo.load({}), (error) => {
    assert.ok(error instanceof longshore.Invalid);
    assert.deepEqual(error.faults[0].loc, ["body", "params"]);
    assert.match(error.message, /body\.params: no model/);
    return true;
  });
});

test("An aborted call throws the reason of its signal", async () => {
  const { client } = start();
  const reason = new Error("enough");
  await assert.rejects(client.whoami({ signal: AbortSignal.abort(reason) }), reason);
});

test("A request without an answer times out", async () => {
  const { client, service } = start({ timeout: 0.01, retryFor: 0 });
  service.faults.push(({ signal }) => service.change(signal));
  await assert.rejects(client.whoami(), longshore.TimedOut);
});

test("The wait of a call is not a part of its timeout", async () => {
  const { client, service } = start({ timeout: 0.01, retryFor: 0 });
  const slow = () => new Promise((resolve) => setTimeout(resolve, 50));
  const { cargo_id } = await client.cargo.load(params("x"));
  service.faults.push(slow, slow);
  assert.equal((await client.cargo.track(cargo_id, { wait: 5 })).cargo_id, cargo_id);
  assert.equal((await client.cargo.result(cargo_id)).text, "echo x");
});

test("A redirect is an error at once", async () => {
  const { client, service } = start();
  service.faults.push(() => new Response(null, { status: 301, headers: { location: "https://api/whoami" } }));
  await assert.rejects(client.whoami(), /http:\/\/api\/whoami is redirected/);
  assert.equal(service.requests.length, 1);
});

test("The key is not shown", () => {
  const { client } = start();
  assert.ok(!inspect(client, { depth: 10, showHidden: true }).includes(KEY));
  assert.ok(!JSON.stringify(client).includes(KEY));
});

test("A client without a key says what to do", () => {
  assert.throws(() => new longshore.Longshore({ apiKey: "" }), /set LONGSHORE_API_KEY/);
});

test("Lists go on until the cursor is null", async () => {
  const { client } = start();
  for (const text of ["a", "b", "c"]) await client.cargo.load(params(text));
  const listed = await collect(client.cargo.list({ status: ["PENDING", "COMPLETED"] }, { pageSize: 2 }));
  assert.equal(listed.length, 3);
});

test("A list repeats a filter with several values, and leaves out what is undefined", async () => {
  const { client, service } = start();
  await collect(client.cargo.list({ status: ["PENDING", "BATCHED"], created_after: new Date(0) }));
  const expected = "?status=PENDING&status=BATCHED&created_after=1970-01-01T00%3A00%3A00.000Z";
  assert.equal(service.requests[0].url.search, expected);
});
