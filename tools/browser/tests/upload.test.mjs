// A file of 20 MB is uploaded in parts. The connection breaks or the page is closed, and the upload resumes.

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { OPERATOR, browserTest } from "../support/browser.mjs";
import { folder, waitFor } from "../support/installation.mjs";

/** Writes the video of docs/files.md with padding that players skip, and returns its path. */
function writeVideo(installation, bytes) {
  const begin = Buffer.from(readFileSync("docs/files.md", "utf8").match(/base64 -d <<<(AAAAI\S+)/)[1], "base64");
  const padding = randomBytes(bytes - begin.length);
  padding.writeUInt32BE(padding.length, 0);
  padding.write("free", 4);
  const place = join(folder(), installation.name);
  mkdirSync(place, { recursive: true });
  writeFileSync(join(place, "film.mp4"), Buffer.concat([begin, padding]));
  return join(place, "film.mp4");
}

/** Records the parts that are sent to the store, and aborts those for which `cuts` is true. */
async function recordParts(installation, page, cuts) {
  const puts = [];
  const arrived = [];
  const numbered = (request) => request.method() === "PUT" && new URL(request.url()).searchParams.get("partNumber");
  page.on("requestfinished", (request) => numbered(request) && arrived.push(numbered(request)));
  await page.route(`${installation.settings.SVC_OBJECTS_PUBLIC_URL}/**`, async (route) => {
    const part = numbered(route.request());
    if (!part) return route.continue();
    const cut = cuts(part);
    puts.push({ part, cut });
    return cut ? route.abort("connectionreset") : route.continue();
  });
  return {
    sent: (part) => puts.filter((put) => put.part === part && !put.cut).length,
    arrived: (part) => arrived.includes(part),
    cut: () => puts.filter((put) => put.cut).length,
  };
}

const choose = (page, file) => page.locator("input[type=file]").first().setInputFiles(file);

/** Waits until the file is ready, and resumes the upload if the page offers it. */
async function waitUntilReady(page) {
  const row = page.getByRole("row").filter({ hasText: "film.mp4" });
  const resume = page.getByRole("button", { name: "Resume" });
  await waitFor("the file to be ready", async () => {
    if (await resume.first().isVisible()) await resume.first().click();
    return row.getByText("ready").first().isVisible();
  });
}

browserTest("A large upload resumes after a broken connection", { files: true }, async ({ installation, session, page }) => {
  await session.setUp();
  let cuts = 1;
  const parts = await recordParts(installation, page, (part) => part === "2" && cuts-- > 0);
  await page.goto(`/dashboard/project/${OPERATOR.project}/files`);
  await choose(page, writeVideo(installation, 20 << 20));
  await waitUntilReady(page);
  assert.equal(parts.cut(), 1, "the connection was cut");
  assert.equal(parts.sent("1"), 1, "a part that arrived is not sent again");
  assert.equal(parts.sent("2"), 1);
});

browserTest("A large upload resumes after its page was closed", { files: true }, async ({ installation, session, page }) => {
  await session.setUp();
  let closed = true;
  const parts = await recordParts(installation, page, (part) => part === "2" && closed);
  await page.goto(`/dashboard/project/${OPERATOR.project}/files`);
  const file = writeVideo(installation, 20 << 20);
  await choose(page, file);
  await waitFor("the first part to arrive, and the second to be aborted", () => parts.arrived("1") && parts.cut() > 0);
  await page.waitForTimeout(1000);
  await page.reload();
  closed = false;
  await choose(page, file);
  await waitUntilReady(page);
  assert.equal(parts.sent("1"), 1, "a part that arrived is not sent again");
});
