import assert from "node:assert/strict";
import { test } from "node:test";
import { CostLimitExceeded, LongshoreError, RateLimited, Invalid } from "longshore";
import { collect, params, start } from "./support/client.mjs";
import { cutAfterRequest } from "./support/fake_service.mjs";

const numbers = (count) => Array.from({ length: count }, (_, index) => index);
const request = (row) => params(`row ${row}`);

test("map yields every row with its answer, in the order of the input", async () => {
  const { client, service } = start();
  const rows = await collect(client.cargo.map(numbers(2500), request, { name: "all" }));
  assert.deepEqual(rows.map(({ row, text }) => [row, text]), numbers(2500).map((row) => [row, `echo row ${row}`]));
  const [group] = service.groups.values();
  assert.equal(group.name, "all");
  assert.ok(group.sealed_at);
  const bulks = service.requests.filter(({ url }) => url.pathname === "/cargo/bulk");
  assert.deepEqual(bulks.map(({ body }) => JSON.parse(body).cargo.length), [1000, 1000, 500]);
});

test("Connections that are cut after a bulk arrived load every row once", async () => {
  const { client, service } = start();
  service.faults.push(cutAfterRequest, cutAfterRequest, cutAfterRequest, cutAfterRequest, cutAfterRequest);
  const rows = await collect(client.cargo.map(numbers(2000), request, { name: "cut" }));
  assert.equal(rows.length, 2000);
  assert.equal(service.cargo.size, 2000);
  assert.equal(service.groups.size, 1);
});

test("A stream of results that breaks off continues after its last line", async () => {
  const { client, service } = start();
  service.cutsStreamAfter = 700;
  const rows = await collect(client.cargo.map(numbers(1500), request, { name: "broken", order: "completion" }));
  assert.equal(new Set(rows.map(({ row }) => row)).size, 1500);
});

test("A resumed map loads only what is missing, and yields all", async () => {
  const { client, service } = start();
  const first = client.cargo.map(numbers(3000), request, { name: "resumed" });
  for await (const { number } of first) if (number === 500) break;
  const before = service.cargo.size;
  const rows = await collect(client.cargo.map(numbers(3000), request, { name: "resumed" }));
  assert.deepEqual(rows.map(({ row }) => row), numbers(3000));
  assert.ok(before > 0);
  assert.equal(service.cargo.size, 3000);
});

test("With keys, a resumed map finds its rows in another order", async () => {
  const { client, service } = start();
  const options = { name: "keys", key: (row) => `row-${row}` };
  await collect(client.cargo.map(numbers(300), request, options));
  const rows = await collect(client.cargo.map(numbers(300).reverse(), request, options));
  assert.deepEqual(rows.map(({ row, text }) => [row, text]).at(0), [299, "echo row 299"]);
  assert.equal(service.cargo.size, 300);
});

test("Results beyond the memory are downloaded again", async () => {
  const { client, service } = start();
  service.completesAtOnce = false;
  const map = collect(client.cargo.map(numbers(2000), request, { name: "small", maxHeldBytes: 10_000 }));
  while (service.cargo.size < 2000) await new Promise((resolve) => setImmediate(resolve));
  for (const cargo of [...service.cargo.values()].reverse()) service.complete(cargo);
  const rows = await map;
  assert.deepEqual(rows.map(({ row, text }) => [row, text]), numbers(2000).map((row) => [row, `echo row ${row}`]));
  const downloads = service.requests.filter(({ url }) => url.searchParams.get("order") === "position");
  assert.ok(downloads.length > 0 && downloads.length < 10, `${downloads.length} downloads`);
});

test("Rows are read only as far as they are needed", async () => {
  const { client, service } = start();
  service.completesAtOnce = false;
  let read = 0;
  function* rows() {
    for (; read < 100_000; read += 1) yield read;
  }
  const map = client.cargo.map(rows(), request, { name: "bounded" })[Symbol.asyncIterator]();
  const first = map.next();
  while (service.cargo.size < 7000) await new Promise((resolve) => setImmediate(resolve));
  for (let turn = 0; turn < 100; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  assert.ok(read <= 8000, `${read} rows`);
  service.completeAll();
  assert.equal((await first).value.text, "echo row 0");
  await map.return();
});

test("Items beyond the rate limit are loaded after their Retry-After", async () => {
  const { client, service, timing } = start();
  let tokens = 150;
  const detail = { error: "rate_limit_exceeded", message: "slow" };
  service.refuseItem = () => ((tokens -= 1) < 0 && tokens > -200 ? { status: 429, detail } : undefined);
  const rows = await collect(client.cargo.map(numbers(300), request, { name: "slow" }));
  assert.equal(rows.filter(({ error }) => error === null).length, 300);
  assert.ok(timing.sleeps.includes(2000));
  assert.ok(!rows.some(({ error }) => error instanceof RateLimited));
});

test("A row that is refused or fails has its error, and the others their answers", async () => {
  const { client } = start();
  const request = (row) => (row === 1 ? {} : params(row === 2 ? "[mock:fail=storm]" : "fine"));
  const [fine, refused, failed] = await collect(client.cargo.map(numbers(3), request, { name: "bad" }));
  assert.equal(fine.text, "echo fine");
  assert.ok(refused.error instanceof Invalid && refused.result === null);
  assert.equal(failed.error.error, "storm");
  await assert.rejects(collect(client.cargo.map(numbers(3), request, { name: "bad", onError: "raise" })), Invalid);
});

test("Progress counts what is loaded, done and failed", async () => {
  const { client } = start();
  const reports = [];
  const onProgress = (progress) => reports.push(progress);
  await collect(client.cargo.map(numbers(10), request, { name: "progress", onProgress }));
  assert.deepEqual(reports.at(-1), { loaded: 10, done: 10, failed: 0, total: 10 });
});

test("maxCost stops before the load that would exceed it", async () => {
  const { client, service } = start();
  const map = client.cargo.map(numbers(10), request, { name: "cost", maxCost: 5 });
  await assert.rejects(collect(map), CostLimitExceeded);
  assert.equal(service.cargo.size, 0);
});

test("Two rows with the same key are an error, and not an endless wait", async () => {
  const { client } = start();
  const twice = client.cargo.map([1, 1], request, { name: "twice", key: String });
  await assert.rejects(collect(twice), /same key: 1/);
  const far = [...numbers(9000), 0];
  await assert.rejects(collect(client.cargo.map(far, request, { name: "far", key: String, order: "completion" })), LongshoreError);
});

test("A map of no rows ends, and so does one whose rows throw", async () => {
  const { client } = start();
  assert.deepEqual(await collect(client.cargo.map([], request, { name: "none" })), []);
  async function* broken() {
    yield 1;
    throw new Error("no more rows");
  }
  await assert.rejects(collect(client.cargo.map(broken(), request, { name: "broken" })), /no more rows/);
});

test("An aborted map throws the reason", async () => {
  const { client, service } = start();
  service.completesAtOnce = false;
  const reason = new Error("enough");
  const abort = new AbortController();
  const map = collect(client.cargo.map(numbers(5), request, { name: "aborted", signal: abort.signal }));
  setImmediate(() => abort.abort(reason));
  await assert.rejects(map, reason);
});
