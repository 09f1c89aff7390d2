// A group is followed, downloaded and cancelled on its page, and a cargo on its own.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { OPERATOR, browserTest } from "../support/browser.mjs";
import { waitFor } from "../support/installation.mjs";

const GROUPS = `/dashboard/project/${OPERATOR.project}/groups`;

browserTest("The page of a group follows its progress and downloads its results", {}, async ({ installation, session, page }) => {
  await session.setUp();
  const { key } = await session.createKey(OPERATOR.project, "shop");
  await page.goto(GROUPS);
  const list = await session.pageLoadId();
  const group = await installation.createGroup(key, "replies");
  await page.getByRole("link", { name: "replies" }).waitFor();
  assert.equal(await session.pageLoadId(), list, "the list was not loaded again");

  await page.getByRole("link", { name: "replies" }).click();
  await page.getByText("0 of 0 cargo completed").waitFor();
  const one = await session.pageLoadId();
  const cargo = [];
  for (const custom_id of ["first", "second"]) {
    cargo.push(await installation.load(key, `Hello ${custom_id}.`, { group_id: group, custom_id }));
  }
  await installation.api(key, "POST", `/groups/${group}/seal`, { total: 2 });
  await page.getByText("2 of 2 cargo completed").waitFor();
  await page.locator("main .chip").filter({ hasText: "completed" }).first().waitFor();
  assert.equal(await session.pageLoadId(), one, "the page was not loaded again");

  const downloading = page.waitForEvent("download");
  await page.getByRole("link", { name: "Download results" }).click();
  const download = await downloading;
  assert.equal(download.suggestedFilename(), "replies.jsonl");
  const lines = readFileSync(await download.path(), "utf8").trim().split("\n").map((line) => JSON.parse(line));
  assert.deepEqual(lines.map((line) => [line.custom_id, line.cargo_id]), [["first", cargo[0]], ["second", cargo[1]]]);

  await page.locator(`a[href$="/cargo/${cargo[1]}"]`).click();
  await page.getByText("second", { exact: true }).waitFor();
  await page.getByRole("link", { name: "replies" }).click();
  await page.waitForURL((url) => url.pathname === `${GROUPS}/${group}`);
});

// After the first batch, the lane of the mock provider collects cargo for an hour.
const slow = { settings: { SVC_BATCH_LINGER_MILLISECONDS: "3600000" } };

browserTest("A group and a cargo are cancelled on their pages", slow, async ({ installation, session, page }) => {
  await session.setUp();
  const { key } = await session.createKey(OPERATOR.project, "shop");
  const status = async (cargo) => (await installation.api(key, "GET", `/cargo/${cargo}/tracking`)).body;
  const first = await installation.load(key, "The first batch.");
  await waitFor("the first batch", async () => (await status(first)).status === "COMPLETED");
  const group = await installation.createGroup(key, "unwanted");
  const member = await installation.load(key, "Unwanted.", { group_id: group });
  const single = await installation.load(key, "Unwanted too.");

  const questions = [];
  page.on("dialog", (dialog) => questions.push(dialog.message()));
  await page.goto(`${GROUPS}/${group}`);
  await page.getByRole("button", { name: "Cancel group" }).click();
  await page.locator("main .chip").filter({ hasText: "cancelled" }).first().waitFor();
  await waitFor("the member to be cancelled", async () => (await status(member)).error_code === "cancelled");
  assert.equal(await page.getByRole("button", { name: "Cancel group" }).count(), 0);

  await page.goto(`/dashboard/project/${OPERATOR.project}/cargo/${single}`);
  await page.getByRole("button", { name: "Cancel cargo" }).click();
  await page.locator("main .chip").filter({ hasText: "cancelled" }).first().waitFor();
  assert.equal((await status(single)).error_code, "cancelled");
  assert.equal(await page.getByRole("button", { name: "Cancel cargo" }).count(), 0);

  assert.equal(questions.length, 2, "each button asks before it cancels");
  assert.match(questions[0], /Cancel the group unwanted\?.*1 of its cargo/s);

  await page.goto(`/dashboard/project/${OPERATOR.project}/cargo?status=cancelled`);
  for (const cargo of [member, single]) await page.locator(`a[href$="${cargo}"]`).waitFor();
  assert.equal(await page.locator(`a[href$="${first}"]`).count(), 0, "other cargo is not in the list");
});
