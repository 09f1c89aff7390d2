// A callback failed, and a person resends it.

import assert from "node:assert/strict";
import { OPERATOR, browserTest } from "../support/browser.mjs";
import { waitFor } from "../support/installation.mjs";

browserTest("A failed callback is resent from the page of its cargo", {}, async ({ installation, session, page }) => {
  await session.setUp();
  const { key } = await session.createKey(OPERATOR.project, "shop");
  installation.receiver.answer = 500;
  const cargo = await installation.load(key, "This callback fails at first.", { callback_url: installation.receiver.url });
  await waitFor("the first attempt", () => installation.receiver.received.length > 0);

  // The page is open while the callback is retried, and its button changes when the retries end.
  await page.goto(`/dashboard/project/${OPERATOR.project}/cargo/${cargo}`);
  await page.locator("#callbacks").getByText("500").first().waitFor();
  await waitFor("the callback to fail", async () => {
    const { body } = await installation.api(key, "GET", `/cargo/${cargo}/tracking`);
    return body.status === "callback_failed";
  });
  const before = installation.receiver.received.length;
  installation.receiver.answer = 200;
  await page.getByRole("button", { name: "Resend", exact: true }).click();
  await waitFor("the callback", () => installation.receiver.received.length > before);
  await page.locator("main .chip").filter({ hasText: /delivered/i }).first().waitFor();
  assert.equal(installation.receiver.received.at(-1).body.cargo_id, cargo);
});
