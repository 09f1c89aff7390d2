// From the first start to the first callback, as after a new installation.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { OPERATOR, browserTest } from "../support/browser.mjs";
import { waitFor } from "../support/installation.mjs";

const run = promisify(execFile);

browserTest("First start, key, curl, callback", {}, async ({ installation, session, page }) => {
  await session.setUp();
  const link = await installation.setupLink();
  assert.equal((await fetch(link)).ok, false, "the link is valid once");

  const { curl } = await session.createKey(OPERATOR.project, "first key");
  const called = curl.replace("-d '{", `-d '{"callback_url": "${installation.receiver.url}", `);
  assert.notEqual(called, curl);
  const { stdout } = await run("bash", ["-c", called]);
  const cargo = JSON.parse(stdout).cargo_id;

  await page.goto(`/dashboard/project/${OPERATOR.project}/cargo`);
  await page.getByRole("link", { name: cargo }).or(page.locator(`a[href$="${cargo}"]`)).first().click();
  await page.waitForURL(new RegExp(cargo));
  await page.locator("main .chip").filter({ hasText: /delivered/i }).first().waitFor();
  await waitFor("the callback", () => installation.receiver.received.length === 1);
  assert.equal(installation.receiver.received[0].body.cargo_id, cargo);
});
