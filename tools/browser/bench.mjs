// Measures each page with a million cargo in its project: bench.mjs [--cargo N] [--rounds N] [--small]
//
// Signs in with plain requests and reads every page, one after the other, to the last byte. For comparison
// it reads /health of the same process, which uses no database. The last line is JSON. With --small it runs for
// seconds, and only checks that every page answers.

import { parseArgs } from "node:util";
import { OPERATOR } from "./support/browser.mjs";
import { demoIds, joinOrganizations, pages } from "./support/pages.mjs";
import { Installation } from "./support/installation.mjs";

const MAX_P95_MILLISECONDS = 200;
const PROJECT = "big";

const { values } = parseArgs({ options: { cargo: { type: "string" }, rounds: { type: "string" }, small: { type: "boolean", default: false } } });
const cargo = Number(values.cargo ?? (values.small ? 3000 : 1_000_000));
const rounds = Number(values.rounds ?? (values.small ? 1 : 50));
const warmUpRounds = values.small ? 0 : 3;

const installation = await Installation.start("bench", { demo: true });
let ok = false;
try {
  const cookie = await setUp();
  await installation.demo(cargo, { project: PROJECT });
  await joinOrganizations(installation);
  const known = await demoIds(installation, PROJECT);
  const measured = [{ name: "health", path: "/health" }, ...pages(known)];
  for (const { path } of measured) for (let turn = 0; turn < warmUpRounds; turn++) await fetchPage(path, cookie);
  const times = new Map(measured.map(({ name }) => [name, []]));
  let refused = 0;
  // In turns, so that other load on the machine affects all pages alike.
  for (let round = 0; round < rounds; round++) {
    for (const { name, path } of measured) {
      const { milliseconds, status } = await fetchPage(path, cookie);
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
  ok = refused === 0 && (values.small || slowest.p95 < MAX_P95_MILLISECONDS);
  const result = {
    name: "pages", ok, small: values.small, cargo, rounds, pages: table.length - 1, refused,
    slowest: slowest.name, slowest_p95_milliseconds: round(slowest.p95), limit_milliseconds: MAX_P95_MILLISECONDS,
    health_p95_milliseconds: round(table[0].p95),
  };
  console.log(JSON.stringify(result));
} finally {
  await installation.stop();
}
process.exitCode = ok ? 0 : 1;

/** Completes the setup form and returns the session cookie. */
async function setUp() {
  const link = new URL(await installation.setupLink());
  const form = new URLSearchParams({ pass: link.searchParams.get("pass"), ...OPERATOR });
  const headers = { Origin: installation.base, "Sec-Fetch-Site": "same-origin" };
  const answer = await fetch(`${installation.base}/dashboard/setup`, { method: "POST", body: form, headers, redirect: "manual" });
  // The fetch of Debian's Node.js joins several set-cookie headers into one.
  const header = answer.headers.get("set-cookie") ?? "";
  const cookies = [...header.matchAll(/(?:^|, )([\w-]+=[^;,]*)/g)].map((it) => it[1]);
  if (cookies.length === 0) throw new Error(`the setup form was answered with ${answer.status} and no cookie`);
  return cookies.join("; ");
}

async function fetchPage(path, cookie) {
  const start = performance.now();
  const answer = await fetch(installation.base + path, { headers: { Cookie: cookie }, redirect: "manual" });
  await answer.arrayBuffer();
  return { milliseconds: performance.now() - start, status: answer.status };
}

function quantiles(all) {
  const sorted = [...all].sort((a, b) => a - b);
  const at = (part) => sorted[Math.min(sorted.length - 1, Math.ceil(part * sorted.length) - 1)];
  return { p50: at(0.5), p95: at(0.95), p99: at(0.99) };
}

function round(milliseconds) {
  return Math.round(milliseconds * 10) / 10;
}
