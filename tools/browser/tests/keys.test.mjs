// Keys are created, used and rotated. A key that is rotated without an overlap is refused at once.

import assert from "node:assert/strict";
import { OPERATOR, browserTest } from "../support/browser.mjs";
import { waitFor } from "../support/installation.mjs";

browserTest("A key is rotated and the old one refused", {}, async ({ installation, session, page }) => {
  await session.setUp();
  const { key: old } = await session.createKey(OPERATOR.project, "shop");
  await installation.load(old, "Hello?");

  await page.goto(`/dashboard/project/${OPERATOR.project}/keys`);
  const row = page.getByRole("row").filter({ hasText: "shop" }).filter({ hasText: old.slice(0, 12) });
  await row.getByLabel(/When shop expires/).selectOption("0");
  await row.getByRole("button", { name: "Rotate" }).click();
  const { key: fresh } = await session.shownKey();
  const start = Date.now();
  assert.notEqual(fresh, old);

  await installation.load(fresh, "Hello again.");
  const request = { params: { model: "svc-mock", max_tokens: 8, messages: [{ role: "user", content: "Hello?" }] } };
  await waitFor("the old key to be refused", async () => (await installation.api(old, "POST", "/cargo/load", request)).status === 401);
  assert.ok(Date.now() - start < 2000, `refused after ${Date.now() - start} ms`);

  await page.goto(`/dashboard/project/${OPERATOR.project}/keys`);
  assert.equal((await page.content()).includes(fresh), false, "a key is shown once");
});
