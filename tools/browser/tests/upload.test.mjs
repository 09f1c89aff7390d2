// A file of 20 MB goes up in parts; the connection is cut in the middle, or the page closed, and it goes on where it was.

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { OPERATOR, journey } from "../support/browser.mjs";
import { folder, until } from "../support/world.mjs";

/** A second of film, as docs/files.md has it, and padding that players skip; where it lies. */
function film(world, bytes) {
  const begin = Buffer.from(readFileSync("docs/files.md", "utf8").match(/base64 -d <<<(AAAAI\S+)/)[1], "base64");
  const padding = randomBytes(bytes - begin.length);
  padding.writeUInt32BE(padding.length, 0);
  padding.write("free", 4);
  const place = join(folder(), world.name);
  mkdirSync(place, { recursive: true });
  writeFileSync(join(place, "harbour.mp4"), Buffer.concat([begin, padding]));
  return join(place, "harbour.mp4");
}

/** Watches the parts that go to the store, and cuts those that `cuts` says. */
async function watch(world, page, cuts) {
  const puts = [];
  const arrived = [];
  const numbered = (request) => request.method() === "PUT" && new URL(request.url()).searchParams.get("partNumber");
  page.on("requestfinished", (request) => numbered(request) && arrived.push(numbered(request)));
  await page.route(`${world.settings.SVC_OBJECTS_PUBLIC_URL}/**`, async (route) => {
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

/** Until the list says so; whoever offers to resume is asked to. */
async function ready(page) {
  const row = page.getByRole("row").filter({ hasText: "harbour.mp4" });
  const resume = page.getByRole("button", { name: "Resume" });
  await until("the file to be ready", 90, async () => {
    if (await resume.first().isVisible()) await resume.first().click();
    return row.getByText("ready").first().isVisible();
  });
}

journey("A large file resumes after a cut and becomes ready", { files: true }, async ({ world, visit, page }) => {
  await visit.setUp();
  let cuts = 1;
  const parts = await watch(world, page, (part) => part === "2" && cuts-- > 0);
  await page.goto(`/dashboard/project/${OPERATOR.project}/files`);
  await choose(page, film(world, 20 << 20));
  await ready(page);
  assert.equal(parts.cut(), 1, "the connection was cut");
  assert.equal(parts.sent("1"), 1, "what had arrived is not sent again");
  assert.equal(parts.sent("2"), 1);
});

journey("A large file goes on after its page was closed", { files: true }, async ({ world, visit, page }) => {
  await visit.setUp();
  let closed = true;
  const parts = await watch(world, page, (part) => part === "2" && closed);
  await page.goto(`/dashboard/project/${OPERATOR.project}/files`);
  const file = film(world, 20 << 20);
  await choose(page, file);
  await until("the first part to be there, and the second to be cut", 60, () => parts.arrived("1") && parts.cut() > 0);
  await page.waitForTimeout(1000);
  await page.reload();
  closed = false;
  await choose(page, file);
  await ready(page);
  assert.equal(parts.sent("1"), 1, "what had arrived is not sent again");
});
