// Browser sessions for tests: signing in, recording requests and errors, and accessibility checks.

import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { chromium } from "playwright-core";
import { Installation, folder } from "./installation.mjs";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

export const OPERATOR = {
  name: "Marta Lindgren",
  email: "marta.lindgren@operator.example",
  password: "seven grey seagulls",
  organization: "Example Shop",
  project: "first-project",
};

export async function launch() {
  return chromium.launch({
    executablePath: process.env.LONGSHORE_BROWSER_CHROMIUM,
    // No other host name resolves, so a page that needs another server fails.
    args: [
      ...(process.getuid() === 0 ? ["--no-sandbox"] : []),
      "--disable-gpu",
      "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
    ],
  });
}

/** A test with a separate installation and page. On a failure it saves a screenshot. */
export function browserTest(name, options, steps) {
  test(name, { timeout: 600_000 }, async () => {
    const installation = await Installation.start(name.toLowerCase().slice(0, 24), options);
    const browser = await launch();
    try {
      const session = await BrowserSession.start(browser, installation);
      try {
        await steps({ installation, session, page: session.page });
        session.assertNoErrors();
      } catch (failure) {
        await session.saveEvidence(name);
        throw failure;
      }
    } finally {
      await browser.close();
      await installation.stop();
    }
  });
}

/** One browser context: its page, its requests and its errors. */
export class BrowserSession {
  static async start(browser, installation, look = {}) {
    const session = new BrowserSession();
    session.installation = installation;
    session.foreignRequests = [];
    session.errors = [];
    session.context = await browser.newContext({ baseURL: installation.base, reducedMotion: "reduce", ...look });
    session.context.setDefaultTimeout(60_000);
    // The Content-Security-Policy refuses it as a script of the page.
    await session.context.addInitScript(axe);
    await session.context.addInitScript(() => Object.defineProperty(window, "pageLoadId", { value: Math.random() }));
    session.context.on("request", (request) => session.recordRequest(request.url()));
    session.page = await session.context.newPage();
    session.page.on("dialog", (dialog) => dialog.accept());
    session.page.on("console", (line) => line.type() === "error" && session.errors.push(line.text()));
    session.page.on("pageerror", (failure) => session.errors.push(String(failure)));
    return session;
  }

  recordRequest(url) {
    const { protocol, origin } = new URL(url);
    const ours = ["data:", "blob:", "about:"].includes(protocol) || this.installation.origins().includes(origin);
    if (!ours) this.foreignRequests.push(url);
  }

  /** Fails if a request left our origins, or if a script failed. */
  assertNoErrors() {
    assert.deepEqual(this.foreignRequests, [], "no request leaves our origin and the store's");
    const refused = this.errors.filter((line) => /Content Security Policy|Uncaught|ReferenceError|TypeError/.test(line));
    assert.deepEqual(refused, [], "no script fails and nothing is refused by the policy");
  }

  /** Completes the setup form: an operator, an organization and a project. */
  async setUp(who = OPERATOR) {
    const { page } = this;
    await page.goto(await this.installation.setupLink());
    await page.getByLabel("Your name").fill(who.name);
    await page.getByLabel("E-mail").fill(who.email);
    await page.getByLabel("Password").fill(who.password);
    await page.getByLabel("Organization").fill(who.organization);
    await page.getByLabel("First project").fill(who.project);
    await page.getByRole("button", { name: "Create" }).click();
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

  async signOut() {
    await this.page.locator('form[action="/dashboard/sign-out"] button').click();
    await this.page.waitForURL(/\/dashboard\/sign-in$/);
  }

  /** Creates a key on the project's page. Returns the whole key and the curl command shown with it. */
  async createKey(project, name) {
    await this.submitKeyForm(project, name);
    return this.shownKey();
  }

  async submitKeyForm(project, name) {
    const { page } = this;
    await page.goto(`/dashboard/project/${project}/keys`);
    await page.getByLabel("Name", { exact: true }).fill(name);
    await page.getByRole("button", { name: "Create key" }).click();
  }

  /** Creates the first key with a proof that is too old; `confirm` enters a new one on the page that asks for it. */
  async createKeyWithOldProof(confirm) {
    const { installation, page } = this;
    await installation.sql("control", "update control.session set proved_at = proved_at - interval '11 minutes'");
    await this.submitKeyForm(OPERATOR.project, "first key");
    await page.waitForURL(/\/dashboard\/confirm/);
    assert.equal(await page.locator("#key").count(), 0, "no key is shown before the confirmation");
    assert.deepEqual(await installation.sql("control", "select id from control.api_key"), []);
    await confirm();
    await page.waitForURL((url) => url.pathname === `/dashboard/project/${OPERATOR.project}/keys`);
    await this.createKey(OPERATOR.project, "first key");
  }

  async shownKey() {
    const key = (await this.page.locator("#key").innerText()).trim();
    assert.match(key, /^svc_sk_[A-Za-z0-9]{32}$/);
    return { key, curl: (await this.page.locator("#curl").innerText()).trim() };
  }

  /** Identifies this load of the page: it changes with every reload. */
  pageLoadId() {
    return this.page.evaluate(() => window.pageLoadId);
  }

  /** Fails on serious accessibility violations, with the rule and the element. */
  async assertAccessible(what) {
    const found = await this.page.evaluate(async () => {
      const options = { resultTypes: ["violations"], runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"] };
      const { violations } = await window.axe.run(document, options);
      return violations.map(({ id, impact, help, nodes }) => ({
        id, impact, help, elements: nodes.slice(0, 3).map((node) => `${node.target.join(" ")}: ${node.html.slice(0, 160)}`),
      }));
    });
    const serious = found.filter(({ impact }) => impact === "serious" || impact === "critical");
    assert.deepEqual(serious, [], `${what} is accessible`);
  }

  /** Fails if the page is wider than the screen of a phone. */
  async assertFitsPhone() {
    const size = this.page.viewportSize();
    await this.page.setViewportSize({ width: 390, height: 844 });
    const overflow = await this.page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
    await this.page.setViewportSize(size);
    assert.ok(overflow <= 0, `the page is ${overflow} pixels wider than a phone`);
  }

  /** Fails if a table of the page is wider than its frame on a screen of 1,440 pixels. */
  async assertTablesFitScreen() {
    const size = this.page.viewportSize();
    await this.page.setViewportSize({ width: 1440, height: 900 });
    const hidden = await this.page.evaluate(() =>
      [...document.querySelectorAll(".scroll")]
        .filter((frame) => frame.scrollWidth > frame.clientWidth)
        .map((frame) => `${frame.getAttribute("aria-label")}: ${frame.scrollWidth - frame.clientWidth} pixels`));
    await this.page.setViewportSize(size);
    assert.deepEqual(hidden, [], "every column is visible");
  }

  /** Saves a screenshot and the HTML of a failed test. */
  async saveEvidence(name) {
    const stem = join(folder(), name.toLowerCase().replace(/[^a-z0-9]+/g, "-"));
    mkdirSync(folder(), { recursive: true });
    await this.page.screenshot({ path: `${stem}.png`, fullPage: true }).catch(() => {});
    writeFileSync(`${stem}.html`, await this.page.content().catch(() => ""));
    console.error(`saved ${stem}.png and .html; the page was ${this.page.url()}`);
    for (const line of this.errors) console.error(`  console: ${line}`);
  }
}
