import assert from "node:assert/strict";
import { test } from "node:test";
import { collect, params, start } from "./support/client.mjs";
import { refuse } from "./support/fake_service.mjs";

test("A group of a name is created once", async () => {
  const { client } = start();
  const first = await client.groups.create("invoices", { metadata: { month: 11 } });
  const second = await client.groups.create("invoices");
  assert.equal(second.group_id, first.group_id);
  assert.equal(second.existing, true);
});

test("A group is loaded, sealed and read by position", async () => {
  const { client } = start();
  const { group_id } = await client.groups.create("pages");
  const loads = ["b", "a"].map((text, index) => ({ params: params(text), group_id, custom_id: text, position: 1 - index }));
  const { accepted, results } = await client.cargo.bulk(loads);
  assert.equal(accepted, 2);
  assert.deepEqual(results.map(({ status }) => status), [202, 202]);
  await client.groups.seal(group_id, { total: 2 });
  assert.equal((await client.groups.get(group_id, { wait: 5 })).status, "completed");
  const lines = await collect(client.groups.results(group_id));
  assert.deepEqual(lines.map(({ custom_id }) => custom_id), ["a", "b"]);
  const after = await collect(client.groups.results(group_id, { order: "completion", after: 1 }));
  assert.deepEqual(after.map(({ custom_id }) => custom_id), ["a"]);
});

test("A group without a name is not created twice by a retry", async () => {
  const { client, service } = start();
  service.faults.push(() => refuse(500, "broken"));
  await assert.rejects(client.groups.create(), /500/);
  assert.equal(service.requests.length, 1);
});
