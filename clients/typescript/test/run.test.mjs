import assert from "node:assert/strict";
import { test } from "node:test";
import { CargoCancelled, CargoFailed, NotFound, StillUnderWay, Unauthenticated } from "longshore";
import { params, start } from "./support/client.mjs";
import { cutAfterRequest, refuse } from "./support/fake_service.mjs";

const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

async function until(condition) {
  while (!condition()) await nextTurn();
}

const waits = (service) => service.requests.filter(({ url }) => url.pathname === "/cargo/wait");

test("run returns the answer", async () => {
  const { client } = start();
  const answer = await client.cargo.run(params("hello"));
  assert.equal(answer.text, "echo hello");
  assert.equal(answer.charged, 0.0015);
  assert.match(answer.cargo_id, /^crg_/);
});

test("Runs at the same time share requests", async () => {
  const { client, service } = start();
  const texts = Array.from({ length: 50 }, (_, index) => `text ${index}`);
  const answers = await Promise.all(texts.map((text) => client.cargo.run(params(text))));
  assert.deepEqual(answers.map(({ text }) => text), texts.map((text) => `echo ${text}`));
  assert.ok(waits(service).length <= 3, `${waits(service).length} requests`);
});

test("A run that begins while another waits is in the next request", async () => {
  const { client, service } = start();
  service.completesAtOnce = false;
  const first = client.cargo.run(params("slow"));
  await until(() => waits(service).length === 1);
  const second = client.cargo.run(params("fast"));
  await until(() => service.cargo.size === 2);
  service.complete([...service.cargo.values()][1]);
  assert.equal((await second).text, "echo fast");
  service.completeAll();
  assert.equal((await first).text, "echo slow");
});

test("More cargo than a request takes are waited for in several", async () => {
  const { client, service } = start();
  service.completesAtOnce = false;
  const runs = Array.from({ length: 1500 }, (_, index) => client.cargo.run(params(String(index))));
  await until(() => service.cargo.size === 1500);
  service.completeAll();
  const answers = await Promise.all(runs);
  assert.equal(new Set(answers.map(({ text }) => text)).size, 1500);
  for (const { body } of waits(service)) assert.ok(JSON.parse(body).cargo_ids.length <= 1000);
});

test("A cargo that failed throws its error", async () => {
  const { client } = start();
  await assert.rejects(client.cargo.run(params("[mock:fail=storm]")), (error) => {
    assert.ok(error instanceof CargoFailed);
    assert.deepEqual([error.error, error.code], ["storm", "request_rejected"]);
    return true;
  });
});

test("After the timeout the cargo stays, and result continues", async () => {
  const { client, service } = start();
  service.completesAtOnce = false;
  const error = await client.cargo.run(params("late"), { timeout: 30 }).catch((caught) => caught);
  assert.ok(error instanceof StillUnderWay);
  service.completeAll();
  assert.equal((await client.cargo.result(error.cargoId)).text, "echo late");
});

test("cancelOnExit cancels the cargo of an aborted run", async () => {
  const { client, service } = start();
  service.completesAtOnce = false;
  const abort = new AbortController();
  const run = client.cargo.run(params("x"), { cancelOnExit: true, signal: abort.signal });
  await until(() => waits(service).length === 1);
  const reason = new Error("enough");
  abort.abort(reason);
  await assert.rejects(run, reason);
  const [cargo] = service.cargo.values();
  assert.equal(cargo.error_code, "cancelled");
  await assert.rejects(client.cargo.result(cargo.cargo_id), CargoCancelled);
});

test("An unknown cargo is not found", async () => {
  const { client } = start();
  await assert.rejects(client.cargo.result("crg_unknown"), NotFound);
});

test("A lost wait is repeated", async () => {
  const { client, service } = start();
  const { cargo_id } = await client.cargo.load(params("x"));
  service.faults.push(cutAfterRequest);
  assert.equal((await client.cargo.result(cargo_id)).text, "echo x");
});

test("All runs see an error that a repeat cannot help, and later runs work", async () => {
  const { client, service } = start();
  const { cargo_id } = await client.cargo.load(params("x"));
  service.faults.push(() => refuse(401, "Invalid API key."));
  const both = await Promise.allSettled([client.cargo.result(cargo_id), client.cargo.result(cargo_id)]);
  for (const { reason } of both) assert.ok(reason instanceof Unauthenticated);
  assert.equal((await client.cargo.result(cargo_id)).text, "echo x");
});

test("cancel, attempts and resend call their routes", async () => {
  const { client, service } = start();
  const { cargo_id } = await client.cargo.load(params("x"));
  assert.equal((await client.cargo.cancel(cargo_id)).cancel, "done");
  assert.deepEqual((await client.cargo.attempts(cargo_id)).attempts, []);
  assert.equal((await client.cargo.resend(cargo_id)).resend, "queued");
  assert.equal((await client.cargo.track(cargo_id, { wait: 5, until: "delivered" })).cargo_id, cargo_id);
  assert.equal(service.requests.at(-1).url.search, "?wait=5&until=delivered");
});
