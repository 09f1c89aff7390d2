// Routes of cargo.

import { json, refuse } from "./fake_service.mjs";

const COST = { held: 0, charged: 1_500_000, realtime: null, saved: null, currency: "USD", scale: 9 };

/** The cargo of a load, or the answer that refuses it. */
export function load(service, { params, group_id, custom_id, position }, key) {
  if (key && service.keys.has(key)) return { cargo: service.keys.get(key), replay: true };
  const group = service.groups.get(group_id);
  const known = group?.members.get(custom_id);
  if (known) return { cargo: known, replay: true };
  if (!params?.model) return { status: 422, detail: [{ type: "missing", loc: ["body", "params"], msg: "no model" }] };
  if (group?.sealed_at) return { status: 409, detail: { error: "group_sealed", message: "The group is sealed." } };
  const cargo_id = `crg_${String(service.cargo.size).padStart(32, "0")}`;
  const cargo = { cargo_id, status: "PENDING", success: null, response: null, error: null, error_code: null };
  Object.assign(cargo, { params, group_id, custom_id, usage: { input_tokens: 1, output_tokens: 1 }, cost: COST });
  if (group) {
    cargo.position = position ?? group.members.size;
    group.members.set(custom_id ?? String(cargo.position), cargo);
  }
  service.cargo.set(cargo_id, cargo);
  if (key) service.keys.set(key, cargo);
  if (service.completesAtOnce) service.complete(cargo);
  return { cargo, replay: false };
}

function loadOne(service, request) {
  const { cargo, status, detail } = load(service, request.json, request.key);
  return cargo ? json({ cargo_id: cargo.cargo_id, status: "success", message: "" }, 202) : refuse(status, detail);
}

function loadBulk(service, request) {
  const results = request.json.cargo.map((item, index) => {
    const key = item.idempotency_key ?? (request.key && `${request.key}#${index}`);
    const { cargo, replay, status, detail } = service.refuseItem?.(item, index) ?? load(service, item, key);
    const refusal = { index, status, detail, ...(status === 429 && { retry_after_seconds: 2 }) };
    return cargo ? { index, status: 202, cargo_id: cargo.cargo_id, replay } : refusal;
  });
  const accepted = results.filter((result) => result.cargo_id).length;
  return json({ accepted, refused: results.length - accepted, results });
}

async function wait(service, { json: body, signal }) {
  const known = body.cargo_ids.filter((id) => service.cargo.has(id));
  const unknown = body.cargo_ids.filter((id) => !service.cargo.has(id));
  const isCompleted = (id) => service.cargo.get(id).success !== null;
  while (unknown.length === 0 && !known.some(isCompleted)) await service.change(signal);
  const completed = known.filter(isCompleted).slice(0, 100).map((id) => service.cargo.get(id));
  const pending = known.filter((id) => !completed.some(({ cargo_id }) => cargo_id === id));
  return json({ completed, pending, unknown });
}

function cancel(service, { id }) {
  const cargo = service.cargo.get(id);
  const isOpen = cargo.success === null;
  if (isOpen) service.complete(cargo, { success: false, response: null, error: "cancelled", error_code: "cancelled" });
  return json({ cargo_id: id, status: cargo.status, cancel: isOpen ? "cancelled" : "done" });
}

function list(service, { url }) {
  const all = [...service.cargo.values()].reverse();
  const from = Number(url.searchParams.get("cursor") ?? 0);
  const next = from + Number(url.searchParams.get("limit") ?? 50);
  // The first page is empty: only a null cursor is the end.
  if (!url.searchParams.has("cursor")) return json({ cargo: [], next_cursor: "0", looked_until: null });
  return json({ cargo: all.slice(from, next), next_cursor: next < all.length ? String(next) : null, looked_until: null });
}

const track = (service, { id }) => {
  const cargo = service.cargo.get(id);
  return cargo ? json(cargo) : refuse(404, "Cargo not found");
};

const MODEL_LIMITS = { context: null, max_output: null };
const estimate = (service, { json: body }) =>
  json({ items: body.cargo?.length ?? 1, hold: { scale: 9 }, cost: { likely: null, most: 1e9 * (body.cargo?.length ?? 1) } });

export const cargoRoutes = [
  ["POST", /^\/cargo\/load$/, loadOne],
  ["POST", /^\/cargo\/bulk$/, loadBulk],
  ["POST", /^\/cargo\/wait$/, wait],
  ["POST", /^\/cargo\/estimate$/, estimate],
  ["GET", /^\/cargo$/, list],
  ["GET", /^\/cargo\/([^/]+)\/tracking$/, track],
  ["POST", /^\/cargo\/([^/]+)\/cancel$/, cancel],
  ["GET", /^\/cargo\/([^/]+)\/attempts$/, () => json({ attempts: [], next_attempt_at: null })],
  ["POST", /^\/cargo\/([^/]+)\/resend$/, (_service, { id }) => json({ cargo_id: id, resend: "queued" }, 202)],
  ["GET", /^\/models$/, () => json({ models: [{ id: "svc-mock", kind: "chat", limits: MODEL_LIMITS }] })],
  ["GET", /^\/whoami$/, () => json({ project: { slug: "orders" }, organization: { plan: "pro" } })],
];
