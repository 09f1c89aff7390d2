// A project that is deactivated is closed within a second, and opened again as fast.

import assert from "node:assert/strict";
import { OPERATOR, journey } from "../support/browser.mjs";
import { until } from "../support/world.mjs";

journey("A deactivated project is refused within a second", {}, async ({ world, visit, page }) => {
  await visit.setUp();
  const { key } = await visit.createKey(OPERATOR.project, "shop");
  const cargo = await world.load(key, "Before it is closed.");
  const answers = async () => (await world.api(key, "GET", `/cargo/${cargo}/tracking`)).status;
  assert.equal(await answers(), 200);

  const settings = `/dashboard/project/${OPERATOR.project}/settings`;
  await page.goto(settings);
  const changed = page.waitForResponse((answer) => answer.url().endsWith("/settings/deactivate"));
  await page.getByRole("button", { name: "Deactivate project" }).click();
  await changed;
  const began = Date.now();
  await until("the API to answer 403", 5, async () => (await answers()) === 403);
  assert.ok(Date.now() - began < 1000, `refused after ${Date.now() - began} ms`);

  await page.goto(settings);
  await page.getByText(/This project is deactivated/).waitFor();
  await page.getByRole("button", { name: "Activate project" }).click();
  await until("the API to answer again", 5, async () => (await answers()) === 200);
});
