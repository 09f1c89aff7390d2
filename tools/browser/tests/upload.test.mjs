// A file of 20 MB goes up in parts; the connection is cut in the middle, and it goes on where it was.

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { OPERATOR, journey } from "../support/browser.mjs";

/** A second of film, as docs/files.md has it, and padding that players skip. */
function film(bytes) {
  const begin = Buffer.from(readFileSync("docs/files.md", "utf8").match(/base64 -d <<<(AAAAI\S+)/)[1], "base64");
  const padding = randomBytes(bytes - begin.length);
  padding.writeUInt32BE(padding.length, 0);
  padding.write("free", 4);
  return Buffer.concat([begin, padding]);
}

journey("A large file resumes after a cut and becomes ready", { files: true }, async ({ world, visit, page }) => {
  await visit.setUp();
  const store = world.settings.SVC_OBJECTS_PUBLIC_URL;
  const puts = [];
  let cut = false;
  await page.route(`${store}/**`, async (route) => {
    const request = route.request();
    if (request.method() !== "PUT") return route.continue();
    const part = new URL(request.url()).searchParams.get("partNumber");
    puts.push(part);
    if (part === "2" && !cut) {
      cut = true;
      return route.abort("connectionreset");
    }
    return route.continue();
  });

  await page.goto(`/dashboard/project/${OPERATOR.project}/files`);
  await page.locator("input[type=file]").first().setInputFiles({ name: "harbour.mp4", mimeType: "video/mp4", buffer: film(20 << 20) });
  const send = page.getByRole("button", { name: /^upload/i });
  if (await send.isVisible().catch(() => false)) await send.click();
  const row = page.getByRole("row").filter({ hasText: "harbour.mp4" });
  const resume = page.getByRole("button", { name: /resume|go on|again/i });
  await row.getByText("ready").or(resume).first().waitFor({ timeout: 60_000 });
  if (await resume.first().isVisible()) await resume.first().click();
  await row.getByText("ready").first().waitFor({ timeout: 60_000 });

  assert.ok(cut, "the connection was cut");
  assert.equal(puts.filter((part) => part === "1").length, 1, "what had arrived is not sent again");
  assert.equal(puts.filter((part) => part === "2").length, 2);
});
