// Pages change while they are looked at, and nobody reloads them.

import assert from "node:assert/strict";
import { OPERATOR, journey } from "../support/browser.mjs";

journey("Cargo appear and change without a reload", {}, async ({ world, visit, page }) => {
  await visit.setUp();
  const { key } = await visit.createKey(OPERATOR.project, "shop");

  await page.goto(`/dashboard/project/${OPERATOR.project}/cargo`);
  const list = await visit.loadedAs();
  const cargo = await world.load(key, "Watch me. [mock:delay=3s]", { callback_url: world.receiver.url });
  const row = page.getByRole("row").filter({ has: page.locator(`a[href$="${cargo}"]`) });
  await row.waitFor();
  await row.getByText(/delivered/i).first().waitFor();
  assert.equal(await visit.loadedAs(), list, "the list was not loaded again");

  const other = await world.load(key, "And me. [mock:delay=3s]", { callback_url: world.receiver.url });
  await page.goto(`/dashboard/project/${OPERATOR.project}/cargo/${other}`);
  const one = await visit.loadedAs();
  await page.locator("main .chip").filter({ hasText: /delivered/i }).first().waitFor();
  assert.equal(await visit.loadedAs(), one, "the page was not loaded again");
});
