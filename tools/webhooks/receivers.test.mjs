// The Express receiver of docs/receivers.md, as it is there, with what Longshore signs.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { after, before, beforeEach, test } from "node:test";

const PAGE = readFileSync(new URL("../../docs/receivers.md", import.meta.url), "utf8");
// Inside node_modules, so that the receiver finds its packages and git ignores it.
const FOLDER = new URL("node_modules/.receivers/", import.meta.url);

// The table, without a PostgreSQL server. The receiver must use this statement.
const PG = `
export const rows = new Map();
class Pool {
  async query(text, [id, body]) {
    if (text !== "insert into callback (cargo_id, body) values ($1, $2) on conflict do nothing") throw new Error(text);
    if (!rows.has(id)) rows.set(id, body);
  }
}
export default { Pool };
`;

let rows, server, url;

function sign() {
  const seconds = Math.floor(Date.now() / 1000);
  return JSON.parse(execFileSync(process.env.SIGNED_CALLBACKS, [String(seconds)], { encoding: "utf8" }));
}

async function post({ headers, body }) {
  const sent = { "content-type": "application/json", ...headers };
  return (await fetch(`${url}/callbacks/longshore`, { method: "POST", headers: sent, body })).status;
}

before(async () => {
  const [, code] = PAGE.match(/^```js\n([\s\S]*?)^```$/m);
  mkdirSync(new URL("node_modules/pg/", FOLDER), { recursive: true });
  writeFileSync(new URL("node_modules/pg/package.json", FOLDER), '{"type": "module", "exports": "./index.js"}');
  writeFileSync(new URL("node_modules/pg/index.js", FOLDER), PG);
  writeFileSync(new URL("receiver.mjs", FOLDER), code);
  process.env.CALLBACK_SECRET = sign().old_secret;
  process.env.PORT = "0";
  ({ rows } = await import(new URL("node_modules/pg/index.js", FOLDER)));
  ({ server } = await import(new URL("receiver.mjs", FOLDER)));
  if (!server.listening) await once(server, "listening");
  url = `http://127.0.0.1:${server.address().port}`;
});

after(() => server.close());
beforeEach(() => rows.clear());

test("A callback is stored once, however often it arrives", async () => {
  const signed = sign();
  for (const callback of [signed.before_rotation, signed.during_rotation, signed.before_rotation]) {
    assert.equal(await post(callback), 204);
  }
  assert.deepEqual([...rows], [[signed.before_rotation.headers["webhook-id"], signed.before_rotation.body]]);
});

test("A forged callback is not stored", async () => {
  const signed = sign();
  const { headers, body } = signed.before_rotation;
  assert.equal(await post({ headers, body: body.replace("7", "8") }), 401);
  assert.equal(await post({ headers: {}, body }), 401);
  assert.equal(await post(signed.after_rotation), 401);
  assert.equal(rows.size, 0);
});
