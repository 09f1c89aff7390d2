// Single sign-on at a real OpenID Connect provider, with each signature algorithm: a person signs in, and is asked
// again before a key is shown. A person without an account here is refused, and the audit log says so.

import assert from "node:assert/strict";
import { OPERATOR, browserTest } from "../support/browser.mjs";

/** Enters the address on the provider's login page. */
async function logIn(installation, page, email) {
  await page.waitForURL((url) => url.origin === installation.identityServer.issuer);
  await page.getByLabel("E-mail").fill(email);
  await page.getByRole("button", { name: "Log in" }).click();
  await page.waitForURL((url) => url.origin === installation.base);
}

for (const algorithm of ["RS256", "ES256", "PS256", "EdDSA"]) {
  browserTest(`${algorithm} single sign-on`, { singleSignOn: algorithm }, async ({ installation, session, page }) => {
    await session.setUp();
    await session.signOut();
    await page.getByRole("link", { name: "Sign in with single sign-on" }).click();
    await logIn(installation, page, OPERATOR.email);
    await page.goto("/dashboard/account");
    await page.locator("main").getByText(OPERATOR.email).first().waitFor();
    assert.deepEqual(installation.identityServer.issued, [algorithm]);

    // A new login at the provider must come before the key.
    await session.createKeyWithOldProof(async () => {
      await page.getByRole("link", { name: "Confirm with single sign-on" }).click();
      await logIn(installation, page, OPERATOR.email);
    });
    assert.deepEqual(installation.identityServer.issued, [algorithm, algorithm]);
  });
}

browserTest("No single sign-on for strangers", { singleSignOn: "RS256" }, async ({ installation, session, page }) => {
  await session.setUp();
  await session.signOut();
  await page.getByRole("link", { name: "Sign in with single sign-on" }).click();
  await logIn(installation, page, "stranger@idp.example");
  await page.getByText("No active user has your e-mail address").waitFor();
  const refused = "select subject from control.audit where action = 'session.refused'";
  assert.deepEqual(await installation.sql("control", refused), [["stranger@idp.example"]]);
});
