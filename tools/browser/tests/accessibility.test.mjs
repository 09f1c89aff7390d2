// Every page with the rows of the demo, in light and dark: accessible, and without requests to other hosts. Wide tables
// fit a screen.

import assert from "node:assert/strict";
import { test } from "node:test";
import { OPERATOR, BrowserSession, launch } from "../support/browser.mjs";
import { PUBLIC_PAGES, demoIds, joinOrganizations, pages } from "../support/pages.mjs";
import { Installation } from "../support/installation.mjs";

/** Pages whose tables have many columns, and still no hidden one. */
const FITTING_TABLES = ["models", "batches"];

test("Every page is accessible and contacts no other host", { timeout: 600_000 }, async (t) => {
  const installation = await Installation.start("accessibility", { files: true, demo: true });
  const browser = await launch();
  try {
    const first = await BrowserSession.start(browser, installation);
    await first.setUp();
    await installation.demo(3000, { files: true });
    await joinOrganizations(installation);
    const known = await demoIds(installation);
    for (const colorScheme of ["light", "dark"]) {
      const session = await BrowserSession.start(browser, installation, { colorScheme });
      const checkPage = async ({ name, path }) =>
        t.test(`${name}, ${colorScheme}`, async () => {
          const answer = await session.page.goto(path);
          try {
            assert.equal(answer.status(), 200);
            await session.assertAccessible(`${name} in ${colorScheme}`);
            await session.assertFitsPhone();
            if (FITTING_TABLES.includes(name)) await session.assertTablesFitScreen();
          } catch (failure) {
            await session.saveEvidence(`${name}-${colorScheme}`);
            throw failure;
          }
        });
      for (const page of PUBLIC_PAGES) await checkPage(page);
      await session.signIn(OPERATOR);
      for (const page of pages(known)) await checkPage(page);
      session.assertNoErrors();
    }
  } finally {
    await browser.close();
    await installation.stop();
  }
});
