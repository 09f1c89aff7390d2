// Runs clients/scenarios/*.toml against the server of the SCENARIO_ variables.

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { ApiError, Longshore } from "longshore";
import { parse } from "smol-toml";
import { Receiver } from "./receiver.mjs";
import { Steps } from "./steps.mjs";

const FOLDER = new URL("../../scenarios/", import.meta.url);
const FILES = readdirSync(FOLDER).filter((name) => name.endsWith(".toml"));

const receiver = new Receiver();
before(() => receiver.start());
after(() => receiver.stop());

assert.ok(FILES.length > 0, "there are no scenarios");
for (const file of FILES.sort()) {
  const { name, step: steps } = parse(readFileSync(new URL(file, FOLDER), "utf8"));
  test(`${file}: ${name}`, async () => {
    const apiKey = process.env.SCENARIO_API_KEY;
    const direct = new Longshore({ apiKey, baseUrl: process.env.SCENARIO_BASE_URL });
    const verbs = new Steps(direct, direct.withOptions({ baseUrl: process.env.SCENARIO_PROXY_URL }), receiver);
    const run = randomBytes(4).toString("hex");
    for (const step of fill(steps, run)) await runStep(verbs, step);
  });
}

async function runStep(verbs, step) {
  const { expect = {} } = step;
  const returned = await call(verbs, step, "code" in expect || typeof expect.status === "number");
  if (step.as) verbs.named.set(step.as, returned.value);
  for (const [name, value] of Object.entries(expect)) {
    const what = `${JSON.stringify(step).slice(0, 300)}: ${name}`;
    check(verbs, { step, returned, name, value, what });
  }
}

async function call(verbs, step, expectsError) {
  try {
    return await verbs[step.do](step);
  } catch (error) {
    if (!(error instanceof ApiError) || !expectsError) throw error;
    return { status: error.status, code: error.code };
  }
}

function check(verbs, { step, returned, name, value, what }) {
  if (name === "same_as") {
    assert.equal(returned.value, verbs.named.get(value), what);
  } else if (name === "counts") {
    for (const [field, count] of Object.entries(value)) assert.equal(returned.counts[field], count, `${what}.${field}`);
  } else if (name === "texts") {
    const texts = Array.from({ length: step.rows }, (_, row) => value.replaceAll("{row}", row));
    assert.deepEqual(returned.texts, texts, what);
  } else if (["status", "cancel"].includes(name) && Array.isArray(value)) {
    // A list of allowed values, unlike other lists.
    assert.ok(value.includes(returned[name]), `${what} is ${returned[name]}`);
  } else {
    assert.deepEqual(returned[name], value, what);
  }
}

/** Replaces {run} in every text. */
function fill(value, run) {
  if (typeof value === "string") return value.replaceAll("{run}", run);
  if (Array.isArray(value)) return value.map((each) => fill(each, run));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, fill(each, run)]));
}
