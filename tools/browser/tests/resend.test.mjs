// A receiver was not well, its callback was given up, and somebody sends it again.

import assert from "node:assert/strict";
import { OPERATOR, journey } from "../support/browser.mjs";
import { until } from "../support/world.mjs";

journey("A failed callback is sent again from its page", {}, async ({ world, visit, page }) => {
  await visit.setUp();
  const { key } = await visit.createKey(OPERATOR.project, "shop");
  world.receiver.answer = 500;
  const cargo = await world.load(key, "Nobody will hear this at first.", { callback_url: world.receiver.url });
  await until("the callback to be given up", 20, async () => {
    const { body } = await world.api(key, "GET", `/cargo/${cargo}/tracking`);
    return body.status === "CALLBACK_FAILED" || world.receiver.received.length >= 2;
  });

  await page.goto(`/dashboard/project/${OPERATOR.project}/cargo/${cargo}`);
  await page.getByText("500").first().waitFor();
  const before = world.receiver.received.length;
  world.receiver.answer = 200;
  await page.getByRole("button", { name: /send (it |the callback )?again|resend/i }).click();
  await until("the callback", 10, () => world.receiver.received.length > before);
  await page.locator("main .chip").filter({ hasText: /delivered/i }).first().waitFor();
  assert.equal(world.receiver.received.at(-1).body.cargo_id, cargo);
});
