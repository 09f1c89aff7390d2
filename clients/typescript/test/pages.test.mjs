// The code of README.md and docs/typescript.md, and the examples: they compile, and run as they are there.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, join } from "node:path";
import { before, test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import { sign } from "longshore/callbacks";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
// Below the package, so that `longshore` is found.
const BUILD = join(ROOT, "build/pages");
const OUTPUT = join(BUILD, "js");
const PAGES = [join(ROOT, "README.md"), join(ROOT, "../../docs/typescript.md")];
const NEXT = join(ROOT, "examples/next/app/hook/route.ts");
const SECRET = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
const BODY = '{"cargo_id":"crg_1","success":true,"response":null,"error":null}';

const blocks = PAGES.flatMap((page) => {
  const found = [...readFileSync(page, "utf8").matchAll(/^```ts\n(.*?)^```$/gms)];
  return found.map(([, code], number) => ({ name: `${basename(page, ".md")}-${number + 1}`, code }));
});

before(() => {
  rmSync(BUILD, { recursive: true, force: true });
  mkdirSync(BUILD, { recursive: true });
  for (const { name, code } of blocks) writeFileSync(join(BUILD, `${name}.mts`), code);
  copyFileSync(NEXT, join(BUILD, "next.mts"));
  const tsc = createRequire(import.meta.url).resolve("typescript/bin/tsc");
  const files = ["next", ...blocks.map(({ name }) => name)].map((name) => join(BUILD, `${name}.mts`));
  const options = ["--strict", "--module", "nodenext", "--target", "es2022", "--skipLibCheck", "--types", "node"];
  execFileSync(process.execPath, [tsc, ...options, "--exactOptionalPropertyTypes", "--rootDir", BUILD, "--outDir", OUTPUT, ...files], {
    stdio: ["ignore", "inherit", "inherit"],
  });
});

for (const { name } of blocks) {
  test(`The block ${name} runs`, () => {
    const preload = pathToFileURL(join(ROOT, "test/support/fake_global.mjs")).href;
    const variables = { LONGSHORE_API_KEY: "svc_sk_x", LONGSHORE_BASE_URL: "http://api", XDG_CACHE_HOME: BUILD };
    const env = { ...process.env, ...variables };
    execFileSync(process.execPath, ["--import", preload, join(OUTPUT, `${name}.mjs`)], { cwd: BUILD, env });
  });
}

test("The receiver for Next.js answers 204 to a signed callback, and 401 to others", async () => {
  process.env.LONGSHORE_SIGNING_SECRETS = SECRET;
  const { POST } = await import(pathToFileURL(join(OUTPUT, "next.mjs")).href);
  const post = (headers) => POST(new Request("http://receiver/hook", { method: "POST", body: BODY, headers }));
  assert.equal((await post(await sign(BODY, SECRET))).status, 204);
  assert.equal((await post({})).status, 401);
});

test("The receiver for Express answers 204 to a signed callback, and 401 to others", async () => {
  Object.assign(process.env, { LONGSHORE_SIGNING_SECRETS: SECRET, PORT: "0" });
  const { server } = await import("../examples/express.mjs");
  await once(server, "listening");
  const url = `http://127.0.0.1:${server.address().port}/hook`;
  const headers = { "content-type": "application/json" };
  const signed = { ...headers, ...(await sign(BODY, SECRET)) };
  assert.equal((await fetch(url, { method: "POST", body: BODY, headers: signed })).status, 204);
  assert.equal((await fetch(url, { method: "POST", body: BODY, headers })).status, 401);
  server.closeAllConnections();
  server.close();
});
