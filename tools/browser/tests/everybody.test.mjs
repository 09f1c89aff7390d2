// Every page, with thirty days of work in it, in light and in dark: for everybody, and from nobody else.

import assert from "node:assert/strict";
import { test } from "node:test";
import { OPERATOR, Visit, launch } from "../support/browser.mjs";
import { OUTSIDE, facts, join, pages } from "../support/pages.mjs";
import { World } from "../support/world.mjs";

test("Every page can be used by everybody and asks nobody else", { timeout: 600_000 }, async (t) => {
  const world = await World.start("everybody", { files: true, demo: true });
  const browser = await launch();
  try {
    const first = await Visit.begin(browser, world);
    await first.setUp();
    await world.demo(3000, { files: true });
    await join(world);
    const known = await facts(world);
    for (const colorScheme of ["light", "dark"]) {
      const visit = await Visit.begin(browser, world, { colorScheme });
      const look = async ({ name, path }) =>
        t.test(`${name}, ${colorScheme}`, async () => {
          const answer = await visit.page.goto(path);
          try {
            assert.equal(answer.status(), 200);
            await visit.accessible(`${name} in ${colorScheme}`);
            await visit.fits();
          } catch (failure) {
            await visit.keep(`${name}-${colorScheme}`);
            throw failure;
          }
        });
      for (const page of OUTSIDE) await look(page);
      await visit.signIn(OPERATOR);
      for (const page of pages(known)) await look(page);
      visit.settle();
    }
  } finally {
    await browser.close();
    await world.stop();
  }
});
