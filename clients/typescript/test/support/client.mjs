// A client of the API in memory.

import { Longshore } from "longshore";
import { FakeService } from "./fake_service.mjs";
import { fakeTiming } from "./fake_timing.mjs";

export const KEY = `svc_sk_${"A".repeat(32)}`;

export function start(options = {}) {
  const service = new FakeService();
  const timing = fakeTiming();
  const client = new Longshore({ apiKey: KEY, baseUrl: "http://api/", fetch: service.fetch, timing, ...options });
  return { service, timing, client };
}

export const params = (text) => ({ model: "svc-mock", max_tokens: 64, messages: [{ role: "user", content: text }] });

export async function collect(items) {
  const collected = [];
  for await (const item of items) collected.push(item);
  return collected;
}
