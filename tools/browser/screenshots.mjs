// Takes a screenshot of every page: wide and narrow, light and dark. screenshots.mjs FOLDER
// With guide, only the dozen of docs/dashboard.md, at screen size: screenshots.mjs FOLDER guide

import { mkdirSync } from "node:fs";
import { join as path } from "node:path";
import { OPERATOR, BrowserSession, launch } from "./support/browser.mjs";
import { PUBLIC_PAGES, demoIds, joinOrganizations, pages } from "./support/pages.mjs";
import { Installation } from "./support/installation.mjs";

const SIZES = [{ width: 1440, height: 900 }, { width: 390, height: 844 }];

const GUIDE = ["overview", "cargo-list", "cargo-callback-failed", "cargo-new", "batches", "files", "callbacks", "usage",
  "models", "keys", "balance", "operations"];

const folder = process.argv[2];
const guide = process.argv[3] === "guide";
const installation = await Installation.start("pictures", { files: true, demo: true });
const browser = await launch();
let taken = 0;
try {
  const first = await BrowserSession.start(browser, installation);
  await first.setUp();
  await installation.demo(100_000, { files: true });
  await joinOrganizations(installation);
  const known = await demoIds(installation);
  for (const colorScheme of guide ? ["light"] : ["light", "dark"]) {
    for (const viewport of guide ? SIZES.slice(0, 1) : SIZES) {
      const place = guide ? folder : path(folder, `${colorScheme}-${viewport.width}`);
      mkdirSync(place, { recursive: true });
      const session = await BrowserSession.start(browser, installation, { colorScheme, viewport });
      const take = async ({ name, path: address }) => {
        const answer = await session.page.goto(address);
        if (answer.status() !== 200) console.error(`${address} answers ${answer.status()}`);
        // Charts are drawn after the page is loaded.
        await session.page.waitForTimeout(300);
        await session.page.screenshot({ path: path(place, `${name}.png`), fullPage: !guide });
        taken += 1;
      };
      for (const page of guide ? [] : PUBLIC_PAGES) await take(page);
      await session.signIn(OPERATOR);
      for (const page of pages(known)) if (!guide || GUIDE.includes(page.name)) await take(page);
      await session.context.close();
    }
  }
} finally {
  await browser.close();
  await installation.stop();
}
console.error(`${taken} pictures in ${folder}`);
