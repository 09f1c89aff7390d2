// Live pages change without a reload.

import assert from "node:assert/strict";
import { OPERATOR, browserTest } from "../support/browser.mjs";

browserTest("Cargo appear and change without a reload", {}, async ({ installation, session, page }) => {
  await session.setUp();
  const { key } = await session.createKey(OPERATOR.project, "shop");

  await page.goto(`/dashboard/project/${OPERATOR.project}/cargo`);
  const list = await session.pageLoadId();
  const cargo = await installation.load(key, "Watch me. [mock:delay=3s]", { callback_url: installation.receiver.url });
  const row = page.getByRole("row").filter({ has: page.locator(`a[href$="${cargo}"]`) });
  await row.waitFor();
  await row.getByText(/delivered/i).first().waitFor();
  assert.equal(await session.pageLoadId(), list, "the list was not loaded again");

  const other = await installation.load(key, "And me. [mock:delay=3s]", { callback_url: installation.receiver.url });
  await page.goto(`/dashboard/project/${OPERATOR.project}/cargo/${other}`);
  const one = await session.pageLoadId();
  await page.locator("main .chip").filter({ hasText: /delivered/i }).first().waitFor();
  assert.equal(await session.pageLoadId(), one, "the page was not loaded again");
});
