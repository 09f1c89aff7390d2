// A browser in a world: signed in, watched, and asked whether everybody can use what it shows.

import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { chromium } from "playwright-core";
import { World, folder } from "./world.mjs";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

export const OPERATOR = {
  name: "Marta Lindgren",
  email: "marta.lindgren@harbour.example",
  password: "seven grey seagulls",
  organization: "Harbour",
  project: "first-project",
};

export async function launch() {
  return chromium.launch({
    executablePath: process.env.LONGSHORE_BROWSER_CHROMIUM,
    // Every name but our own leads nowhere, so a page that asks for more is seen to.
    args: [
      ...(process.getuid() === 0 ? ["--no-sandbox"] : []),
      "--disable-gpu",
      "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
    ],
  });
}

/** A test with a world and a page of its own; on a failure it leaves a picture. */
export function journey(name, options, steps) {
  test(name, { timeout: 180_000 }, async () => {
    const world = await World.start(name.toLowerCase().slice(0, 24), options);
    const browser = await launch();
    try {
      const visit = await Visit.begin(browser, world);
      try {
        await steps({ world, visit, page: visit.page });
        visit.settle();
      } catch (failure) {
        await visit.keep(name);
        throw failure;
      }
    } finally {
      await browser.close();
      await world.stop();
    }
  });
}

/** One browser's stay: its page, and what it asked for. */
export class Visit {
  static async begin(browser, world, look = {}) {
    const visit = new Visit();
    visit.world = world;
    visit.strangers = [];
    visit.errors = [];
    visit.context = await browser.newContext({ baseURL: world.base, reducedMotion: "reduce", ...look });
    visit.context.setDefaultTimeout(15_000);
    // As a script of the page it would be refused, and rightly so.
    await visit.context.addInitScript(axe);
    await visit.context.addInitScript(() => Object.defineProperty(window, "loadedAs", { value: Math.random() }));
    visit.context.on("request", (request) => visit.note(request.url()));
    visit.page = await visit.context.newPage();
    visit.page.on("dialog", (dialog) => dialog.accept());
    visit.page.on("console", (line) => line.type() === "error" && visit.errors.push(line.text()));
    visit.page.on("pageerror", (failure) => visit.errors.push(String(failure)));
    return visit;
  }

  note(url) {
    const { protocol, origin } = new URL(url);
    const ours = ["data:", "blob:", "about:"].includes(protocol) || this.world.origins().includes(origin);
    if (!ours) this.strangers.push(url);
  }

  /** What must hold at the end of every stay. */
  settle() {
    assert.deepEqual(this.strangers, [], "no request leaves our origin and the store's");
    const refused = this.errors.filter((line) => /Content Security Policy|Uncaught|ReferenceError|TypeError/.test(line));
    assert.deepEqual(refused, [], "no script fails and nothing is refused by the policy");
  }

  /** The first start: an operator, an organization and a project. */
  async setUp(who = OPERATOR) {
    const { page } = this;
    await page.goto(await this.world.setupLink());
    await page.getByLabel("Your name").fill(who.name);
    await page.getByLabel("E-mail").fill(who.email);
    await page.getByLabel("Password").fill(who.password);
    await page.getByLabel("Organization").fill(who.organization);
    await page.getByLabel("First project").fill(who.project);
    await page.getByRole("button", { name: "Begin" }).click();
    await page.waitForURL(/\/dashboard\/(project|organizations)/);
  }

  async signIn(who = OPERATOR) {
    const { page } = this;
    await page.goto("/dashboard/sign-in");
    await page.getByLabel("E-mail").fill(who.email);
    await page.getByLabel("Password").fill(who.password);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.waitForURL((url) => !url.pathname.endsWith("/sign-in"));
  }

  /** Makes a key on the project's page; the whole key and the curl that is offered with it. */
  async createKey(project, name) {
    const { page } = this;
    await page.goto(`/dashboard/project/${project}/keys`);
    await page.getByLabel("Name", { exact: true }).fill(name);
    await page.getByRole("button", { name: "Create key" }).click();
    return this.shownKey();
  }

  async shownKey() {
    const key = (await this.page.locator("#key").innerText()).trim();
    assert.match(key, /^svc_sk_[A-Za-z0-9]{32}$/);
    return { key, curl: (await this.page.locator("#curl").innerText()).trim() };
  }

  /** Which load of the page this is: it stays the same as long as nobody reloads. */
  loadedAs() {
    return this.page.evaluate(() => window.loadedAs);
  }

  /** Fails on what keeps people out, with the rule and the place. */
  async accessible(what) {
    const found = await this.page.evaluate(async () => {
      const options = { resultTypes: ["violations"], runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"] };
      const { violations } = await window.axe.run(document, options);
      return violations.map(({ id, impact, help, nodes }) => ({
        id, impact, help, places: nodes.slice(0, 3).map((node) => `${node.target.join(" ")}: ${node.html.slice(0, 160)}`),
      }));
    });
    const grave = found.filter(({ impact }) => impact === "serious" || impact === "critical");
    assert.deepEqual(grave, [], `${what} can be used by everybody`);
  }

  /** On a telephone nothing is wider than the screen but what scrolls by itself. */
  async fits() {
    const size = this.page.viewportSize();
    await this.page.setViewportSize({ width: 390, height: 844 });
    const beyond = await this.page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
    await this.page.setViewportSize(size);
    assert.ok(beyond <= 0, `the page is ${beyond} pixels wider than a telephone`);
  }

  /** What a person needs to see why a test failed. */
  async keep(name) {
    const stem = join(folder(), name.toLowerCase().replace(/[^a-z0-9]+/g, "-"));
    mkdirSync(folder(), { recursive: true });
    await this.page.screenshot({ path: `${stem}.png`, fullPage: true }).catch(() => {});
    writeFileSync(`${stem}.html`, await this.page.content().catch(() => ""));
    console.error(`left ${stem}.png and .html; the page was ${this.page.url()}`);
    for (const line of this.errors) console.error(`  console: ${line}`);
  }
}
