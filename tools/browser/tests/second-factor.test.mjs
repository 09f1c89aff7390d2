// A person adds an authenticator app, signs in with its code and with a recovery code, and is asked for a code again
// before a key is shown.

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { Authenticator } from "../support/authenticator.mjs";
import { browserTest } from "../support/browser.mjs";

/** Enters the password, then the code. */
async function signInWithCode(session, page, code) {
  await session.signIn();
  await page.waitForURL(/\/dashboard\/sign-in\/code/);
  await enterCode(page, code);
}

async function enterCode(page, code) {
  await page.getByLabel("Code of your authenticator app").fill(code);
  await page.getByRole("button", { name: "Sign in" }).click();
}

const isSignedIn = (url) => !url.pathname.startsWith("/dashboard/sign-in");

const settings = { SVC_SIGNING_ROOT: randomBytes(32).toString("base64") };

browserTest("A second factor signs in and confirms", { settings }, async ({ installation, session, page }) => {
  await session.setUp();
  await page.goto("/dashboard/second-factor");
  await page.getByRole("button", { name: "Set up" }).click();
  const authenticator = new Authenticator((await page.locator("#secret").innerText()).trim());
  await session.assertAccessible("the page with the secret");
  await page.getByLabel("Code that the app shows").fill(await authenticator.nextCode());
  await page.getByRole("button", { name: "Turn on" }).click();
  const recoveryCodes = (await page.locator("#codes").innerText()).trim().split(/\s+/);
  assert.equal(recoveryCodes.length, 10);
  await session.assertAccessible("the page with the recovery codes");
  const stored = await installation.sql("control", "select octet_length(secret) from control.totp");
  assert.deepEqual(stored, [["48"]], "the secret is encrypted");
  await session.signOut();

  await signInWithCode(session, page, await authenticator.nextCode());
  await page.waitForURL(isSignedIn);
  await session.signOut();

  await signInWithCode(session, page, recoveryCodes[0]);
  await page.waitForURL(isSignedIn);
  await session.signOut();
  await signInWithCode(session, page, recoveryCodes[0]);
  await page.getByRole("alert").filter({ hasText: "Wrong code" }).waitFor();
  await enterCode(page, recoveryCodes[1]);
  await page.waitForURL(isSignedIn);

  await session.createKeyWithOldProof(async () => {
    await page.getByLabel(/Code of your authenticator app/).fill(await authenticator.nextCode());
    await page.getByRole("button", { name: "Confirm" }).click();
  });
});
