// Deactivating and activating a project takes effect within a second.

import assert from "node:assert/strict";
import { OPERATOR, browserTest } from "../support/browser.mjs";
import { waitFor } from "../support/installation.mjs";

browserTest("A deactivated project is refused within a second", {}, async ({ installation, session, page }) => {
  await session.setUp();
  const { key } = await session.createKey(OPERATOR.project, "shop");
  const cargo = await installation.load(key, "Before it is deactivated.");
  const answers = async () => (await installation.api(key, "GET", `/cargo/${cargo}/tracking`)).status;
  assert.equal(await answers(), 200);

  const settings = `/dashboard/project/${OPERATOR.project}/settings`;
  await page.goto(settings);
  const changed = page.waitForResponse((answer) => answer.url().endsWith("/settings/deactivate"));
  await page.getByRole("button", { name: "Deactivate project" }).click();
  await changed;
  const start = Date.now();
  await waitFor("the API to answer 403", async () => (await answers()) === 403);
  assert.ok(Date.now() - start < 1000, `refused after ${Date.now() - start} ms`);

  await page.goto(settings);
  await page.getByText(/This project is deactivated/).waitFor();
  await page.getByRole("button", { name: "Activate project" }).click();
  await waitFor("the API to answer again", async () => (await answers()) === 200);
});
