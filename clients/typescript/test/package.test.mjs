// The package as others see it.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { test } from "node:test";
import * as modules from "longshore";
import { generatedFiles, ROOT } from "../scripts/generated_files.mjs";

const require = createRequire(import.meta.url);
const OPENAPI = new URL("../../openapi.json", ROOT);
// Other routes are not for this client.
const PATHS = /^\/(cargo|groups|files|models|whoami)(\/|$)/;
const VERBS = ["get", "post", "put", "patch", "delete"];
const METHODS = {
  "post /cargo/load": "cargo.load",
  "post /cargo/bulk": "cargo.bulk",
  "post /cargo/estimate": "cargo.estimate",
  "post /cargo/wait": "cargo.wait",
  "get /cargo": "cargo.list",
  "get /cargo/{cargo_id}/tracking": "cargo.track",
  "post /cargo/{cargo_id}/cancel": "cargo.cancel",
  "get /cargo/{cargo_id}/attempts": "cargo.attempts",
  "post /cargo/{cargo_id}/resend": "cargo.resend",
  "post /groups": "groups.create",
  "get /groups": "groups.list",
  "get /groups/{group_id}": "groups.get",
  "post /groups/{group_id}/seal": "groups.seal",
  "post /groups/{group_id}/cancel": "groups.cancel",
  "get /groups/{group_id}/results": "groups.results",
  "post /files": "files.create",
  "get /files": "files.list",
  "get /files/{file_id}": "files.get",
  "patch /files/{file_id}": "files.update",
  "delete /files/{file_id}": "files.delete",
  "post /files/{file_id}/complete": "files.complete",
  "post /files/{file_id}/parts": "files.refreshParts",
  "get /files/{file_id}/content": "files.content",
  "get /models": "models.list",
  "get /whoami": "whoami",
};

test("ES modules and CommonJS have the same names", () => {
  for (const name of ["longshore", "longshore/callbacks", "longshore/node"]) {
    assert.ok(Object.keys(require(name)).length > 0, name);
  }
  assert.deepEqual(Object.keys(require("longshore")).sort(), Object.keys(modules).sort());
});

test("The version is that of package.json, and there is no dependency", () => {
  const manifest = require("longshore/package.json");
  assert.equal(modules.VERSION, manifest.version);
  assert.equal(manifest.dependencies, undefined);
});

test("Generated files are not stale: npm run generate", async () => {
  for (const [name, text] of Object.entries(await generatedFiles())) {
    assert.ok(readFileSync(new URL(name, ROOT), "utf8") === text, `${name} is stale`);
  }
});

test("Every route of the API has a method", () => {
  const client = new modules.Longshore({ apiKey: "svc_sk_x" });
  const { paths } = JSON.parse(readFileSync(OPENAPI, "utf8"));
  for (const [path, operations] of Object.entries(paths).filter(([path]) => PATHS.test(path))) {
    for (const verb of Object.keys(operations).filter((key) => VERBS.includes(key))) {
      const method = METHODS[`${verb} ${path}`]?.split(".").reduce((value, name) => value?.[name], client);
      assert.equal(typeof method, "function", `${verb} ${path} has no method`);
    }
  }
});
