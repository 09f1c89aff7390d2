// Keys: made, used, rotated. What is rotated away without an overlap is refused at once.

import assert from "node:assert/strict";
import { OPERATOR, journey } from "../support/browser.mjs";
import { until } from "../support/world.mjs";

journey("A key is rotated and the old one refused", {}, async ({ world, visit, page }) => {
  await visit.setUp();
  const { key: old } = await visit.createKey(OPERATOR.project, "shop");
  await world.load(old, "Is anybody there?");

  await page.goto(`/dashboard/project/${OPERATOR.project}/keys`);
  const row = page.getByRole("row").filter({ hasText: "shop" }).filter({ hasText: old.slice(0, 12) });
  await row.getByLabel(/How long shop/).selectOption("0");
  await row.getByRole("button", { name: "Rotate" }).click();
  const { key: fresh } = await visit.shownKey();
  const began = Date.now();
  assert.notEqual(fresh, old);

  await world.load(fresh, "It is me again.");
  const asked = { params: { model: "svc-mock", max_tokens: 8, messages: [{ role: "user", content: "And me?" }] } };
  await until("the old key to be refused", 5, async () => (await world.api(old, "POST", "/cargo/load", asked)).status === 401);
  assert.ok(Date.now() - began < 2000, `refused after ${Date.now() - began} ms`);

  await page.goto(`/dashboard/project/${OPERATOR.project}/keys`);
  assert.equal((await page.content()).includes(fresh), false, "a key is shown once");
});
