// How long each page takes with a million cargo in its project: bench.mjs [--cargo N] [--rounds N]
//
// Signs in with plain requests and asks for every page, one after the other, to the last byte. Beside it
// stands /health of the same process at the same time, which touches nothing. The last line is JSON.

import { parseArgs } from "node:util";
import { OPERATOR } from "./support/browser.mjs";
import { facts, join, pages } from "./support/pages.mjs";
import { World } from "./support/world.mjs";

const LIMIT = 200;
const PROJECT = "big";

const { values } = parseArgs({ options: { cargo: { type: "string", default: "1000000" }, rounds: { type: "string", default: "50" } } });
const rounds = Number(values.rounds);

const world = await World.start("bench", { demo: true });
let ok = false;
try {
  const cookie = await setUp();
  await world.demo(Number(values.cargo), { project: PROJECT });
  await join(world);
  const known = await facts(world, PROJECT);
  const asked = [{ name: "health", path: "/health" }, ...pages(known)];
  for (const { path } of asked) for (let turn = 0; turn < 3; turn++) await ask(path, cookie);
  const times = new Map(asked.map(({ name }) => [name, []]));
  let refused = 0;
  // In turns, so that what else happens meanwhile happens to all of them.
  for (let round = 0; round < rounds; round++) {
    for (const { name, path } of asked) {
      const { milliseconds, status } = await ask(path, cookie);
      times.get(name).push(milliseconds);
      if (status !== 200) {
        if (round === 0) console.log(`${path} answers ${status}`);
        refused += 1;
      }
    }
  }
  console.log(`${"page".padEnd(26)}${["p50", "p95", "p99"].map((it) => it.padStart(10)).join("")}   milliseconds`);
  const table = [...times].map(([name, all]) => ({ name, ...quantiles(all) }));
  for (const { name, p50, p95, p99 } of table) {
    console.log(`${name.padEnd(26)}${[p50, p95, p99].map((it) => it.toFixed(1).padStart(10)).join("")}`);
  }
  const slowest = table.reduce((a, b) => (b.p95 > a.p95 ? b : a));
  ok = refused === 0 && slowest.p95 < LIMIT;
  const result = {
    name: "pages", ok, cargo: Number(values.cargo), rounds, pages: table.length - 1, refused,
    slowest: slowest.name, slowest_p95_milliseconds: round(slowest.p95), limit_milliseconds: LIMIT,
    health_p95_milliseconds: round(table[0].p95),
  };
  console.log(JSON.stringify(result));
} finally {
  await world.stop();
}
process.exitCode = ok ? 0 : 1;

/** The first start, as its form does it; the cookie of the session. */
async function setUp() {
  const link = new URL(await world.setupLink());
  const form = new URLSearchParams({ pass: link.searchParams.get("pass"), ...OPERATOR });
  const headers = { Origin: world.base, "Sec-Fetch-Site": "same-origin" };
  const answer = await fetch(`${world.base}/dashboard/setup`, { method: "POST", body: form, headers, redirect: "manual" });
  // Debian's fetch cannot yet tell one of several from the next.
  const given = answer.headers.get("set-cookie") ?? "";
  const cookies = [...given.matchAll(/(?:^|, )([\w-]+=[^;,]*)/g)].map((it) => it[1]);
  if (cookies.length === 0) throw new Error(`the first start was answered with ${answer.status} and no cookie`);
  return cookies.join("; ");
}

async function ask(path, cookie) {
  const began = performance.now();
  const answer = await fetch(world.base + path, { headers: { Cookie: cookie }, redirect: "manual" });
  await answer.arrayBuffer();
  return { milliseconds: performance.now() - began, status: answer.status };
}

function quantiles(all) {
  const sorted = [...all].sort((a, b) => a - b);
  const at = (part) => sorted[Math.min(sorted.length - 1, Math.ceil(part * sorted.length) - 1)];
  return { p50: at(0.5), p95: at(0.95), p99: at(0.99) };
}

function round(milliseconds) {
  return Math.round(milliseconds * 10) / 10;
}
