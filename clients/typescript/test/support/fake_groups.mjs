// Routes of groups.

import { json, refuse } from "./fake_service.mjs";

const isCompleted = (group) => group.sealed_at !== null && group.landed.length === group.members.size;

function record(group, fields = {}) {
  const { group_id, name, sealed_at, metadata } = group;
  const status = isCompleted(group) ? "completed" : sealed_at ? "sealed" : "open";
  const counts = { total: group.members.size, unfinished: group.members.size - group.landed.length };
  return json({ group_id, name, status, sealed_at, metadata, counts, ...fields });
}

function create(service, { json: { name, metadata = null } }) {
  const known = [...service.groups.values()].find((group) => group.name === name);
  if (known) return record(known, { existing: true });
  const group_id = `grp_${String(service.groups.size).padStart(32, "0")}`;
  const group = { group_id, name: name ?? group_id, sealed_at: null, metadata, members: new Map(), landed: [] };
  service.groups.set(group_id, group);
  return record(group, { existing: false });
}

function seal(service, { id, json: { total } }) {
  const group = service.groups.get(id);
  if (total !== undefined && total !== group.members.size) return refuse(409, { error: "invalid_state", message: "total" });
  group.sealed_at = "2026-11-15T12:00:00Z";
  service.wake();
  return record(group);
}

function lineOf(cargo, number) {
  const { cargo_id, success, response, error, error_code, usage, cost, position } = cargo;
  const custom_id = cargo.custom_id ?? String(position);
  const rest = { response, error, error_code, usage, cost: { charged: cost.charged } };
  return { number, position, custom_id, cargo_id, success, ...rest };
}

function results(service, { id, url, signal }) {
  const group = service.groups.get(id);
  const inOrderOfCompletion = url.searchParams.get("order") === "completion";
  const after = url.searchParams.has("after") ? Number(url.searchParams.get("after")) : -1;
  const mustWait = inOrderOfCompletion && url.searchParams.has("wait");
  async function* lines() {
    if (!inOrderOfCompletion) {
      const sorted = group.landed.map((cargo, index) => lineOf(cargo, index + 1));
      yield* sorted.sort((one, other) => one.position - other.position).filter((line) => line.position > after);
      return;
    }
    let number = Math.max(0, after);
    for (;;) {
      for (; number < group.landed.length; number += 1) {
        service.sent = (service.sent ?? 0) + 1;
        if (service.cutsStreamAfter === service.sent) throw new TypeError("terminated");
        yield lineOf(group.landed[number], number + 1);
      }
      if (!mustWait || isCompleted(group)) return;
      await service.change(signal);
    }
  }
  return new Response(toStream(lines()), { headers: { "content-type": "application/x-ndjson" } });
}

function toStream(lines) {
  const encoder = new TextEncoder();
  return new ReadableStream(
    {
      async pull(controller) {
        const { done, value } = await lines.next();
        if (done) controller.close();
        else controller.enqueue(encoder.encode(`${JSON.stringify(value)}\n`));
      },
      cancel: () => void lines.return(),
    },
    { highWaterMark: 0 },
  );
}

export const groupRoutes = [
  ["POST", /^\/groups$/, create],
  ["GET", /^\/groups$/, (service) => json({ groups: [...service.groups.values()], next_cursor: null })],
  ["GET", /^\/groups\/([^/]+)$/, (service, { id }) => record(service.groups.get(id))],
  ["POST", /^\/groups\/([^/]+)\/seal$/, seal],
  ["POST", /^\/groups\/([^/]+)\/cancel$/, seal],
  ["GET", /^\/groups\/([^/]+)\/results$/, results],
];
