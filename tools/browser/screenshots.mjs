// A picture of every page: wide and narrow, light and dark. screenshots.mjs FOLDER
// For the guide, a dozen of them as a screen shows them: screenshots.mjs FOLDER guide

import { mkdirSync } from "node:fs";
import { join as path } from "node:path";
import { OPERATOR, Visit, launch } from "./support/browser.mjs";
import { OUTSIDE, facts, join, pages } from "./support/pages.mjs";
import { World } from "./support/world.mjs";

const SIZES = [{ width: 1440, height: 900 }, { width: 390, height: 844 }];

const GUIDE = ["overview", "cargo-list", "cargo-callback-failed", "cargo-new", "batches", "files", "callbacks", "usage",
  "models", "keys", "balance", "operations"];

const folder = process.argv[2];
const guide = process.argv[3] === "guide";
const world = await World.start("pictures", { files: true, demo: true });
const browser = await launch();
let taken = 0;
try {
  const first = await Visit.begin(browser, world);
  await first.setUp();
  await world.demo(100_000, { files: true });
  await join(world);
  const known = await facts(world);
  for (const colorScheme of guide ? ["light"] : ["light", "dark"]) {
    for (const viewport of guide ? SIZES.slice(0, 1) : SIZES) {
      const place = guide ? folder : path(folder, `${colorScheme}-${viewport.width}`);
      mkdirSync(place, { recursive: true });
      const visit = await Visit.begin(browser, world, { colorScheme, viewport });
      const take = async ({ name, path: address }) => {
        const answer = await visit.page.goto(address);
        if (answer.status() !== 200) console.error(`${address} answers ${answer.status()}`);
        // Charts are drawn after the page is there.
        await visit.page.waitForTimeout(300);
        await visit.page.screenshot({ path: path(place, `${name}.png`), fullPage: !guide });
        taken += 1;
      };
      for (const page of guide ? [] : OUTSIDE) await take(page);
      await visit.signIn(OPERATOR);
      for (const page of pages(known)) if (!guide || GUIDE.includes(page.name)) await take(page);
      await visit.context.close();
    }
  }
} finally {
  await browser.close();
  await world.stop();
}
console.error(`${taken} pictures in ${folder}`);
