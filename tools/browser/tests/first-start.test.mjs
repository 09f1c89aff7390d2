// From the first start to the first callback, as somebody does who has just installed it.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { OPERATOR, journey } from "../support/browser.mjs";
import { until } from "../support/world.mjs";

const run = promisify(execFile);

journey("First start, key, curl, callback", {}, async ({ world, visit, page }) => {
  await visit.setUp();
  const link = await world.setupLink();
  assert.equal((await fetch(link)).ok, false, "the link is good once");

  const { curl } = await visit.createKey(OPERATOR.project, "first key");
  const called = curl.replace("-d '{", `-d '{"callback_url": "${world.receiver.url}", `);
  assert.notEqual(called, curl);
  const { stdout } = await run("bash", ["-c", called]);
  const cargo = JSON.parse(stdout).cargo_id;

  await page.goto(`/dashboard/project/${OPERATOR.project}/cargo`);
  await page.getByRole("link", { name: cargo }).or(page.locator(`a[href$="${cargo}"]`)).first().click();
  await page.waitForURL(new RegExp(cargo));
  await page.locator("main .chip").filter({ hasText: /delivered/i }).first().waitFor();
  await until("the callback", 10, () => world.receiver.received.length === 1);
  assert.equal(world.receiver.received[0].body.cargo_id, cargo);
});
