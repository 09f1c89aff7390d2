// Routes of files, and the object store.

import { createHash } from "node:crypto";
import { json, refuse } from "./fake_service.mjs";

const PART_BYTES = 16 << 20;
const MAX_FORM_BYTES = 8 << 20;

const digest = (bytes, encoding) => createHash("sha256").update(bytes).digest(encoding);

function grant(service, file, numbers) {
  const expires_at = "2026-11-15T12:00:00Z";
  service.grants = (service.grants ?? 0) + 1;
  const query = `?grant=${service.grants}`;
  if (file.size_bytes <= MAX_FORM_BYTES) {
    return { type: "post", url: `http://store/form${query}`, fields: { key: file.id, policy: "p" }, expires_at };
  }
  const count = Math.ceil(file.size_bytes / PART_BYTES);
  const all = numbers ?? Array.from({ length: count }, (_, index) => index + 1);
  const parts = all.map((part_number) => ({ part_number, url: `http://store/parts/${file.id}/${part_number}${query}` }));
  return { type: "multipart", part_size_bytes: PART_BYTES, parts, checksum_header: "x-amz-checksum-sha256", expires_at };
}

function create(service, { json: declared }) {
  const known = [...service.files.values()].find(({ sha256, status }) => sha256 === declared.sha256 && status === "ready");
  if (known) return json({ id: known.id, status: "ready", deduplicated: true, upload: null });
  const id = `file_${String(service.files.size).padStart(32, "0")}`;
  const file = { ...declared, id, status: "uploading", parts: new Map() };
  service.files.set(id, file);
  return json({ id, status: "uploading", deduplicated: false, upload: grant(service, file) }, 201);
}

function refresh(service, { id, json: { part_numbers } }) {
  const file = service.files.get(id);
  if (!file) return refuse(404, { error: "file_not_found", message: "no such file" });
  if (file.status !== "uploading") return refuse(409, { error: "invalid_state", message: "not uploading" });
  return json({ id, status: file.status, upload: grant(service, file, part_numbers) });
}

function complete(service, { id, json: { parts } }) {
  const file = service.files.get(id);
  const ordered = parts ? parts.map(({ part_number }) => file.parts.get(part_number).bytes) : [file.bytes];
  const isWhole = digest(Buffer.concat(ordered), "hex") === file.sha256;
  if (!isWhole) return refuse(422, { error: "checksum_mismatch", message: "other bytes" });
  file.status = file.status === "uploading" && service.validates ? "validating" : "ready";
  return json({ id, status: file.status, filename: file.filename, media_type: file.media_type }, file.status === "ready" ? 200 : 202);
}

async function storeForm(service, { body, headers }) {
  if (headers.has("x-api-key")) return new Response("key", { status: 400 });
  const names = [...body.keys()];
  if (names.at(-1) !== "file") return new Response("the file must be last", { status: 400 });
  service.files.get(body.get("key")).bytes = Buffer.from(await body.get("file").arrayBuffer());
  return new Response(null, { status: 204 });
}

function storePart(service, { url, body, headers }) {
  const [, , id, number] = url.pathname.split("/");
  const bytes = Buffer.from(body);
  if (headers.get("x-amz-checksum-sha256") !== digest(bytes, "base64")) return new Response("checksum", { status: 400 });
  service.files.get(id).parts.set(Number(number), { bytes });
  return new Response(null, { headers: { etag: `"${number}"` } });
}

export const fileRoutes = [
  ["POST", /^\/files$/, create],
  ["POST", /^\/files\/([^/]+)\/parts$/, refresh],
  ["POST", /^\/files\/([^/]+)\/complete$/, complete],
  ["GET", /^\/files\/([^/]+)$/, (service, { id }) => json({ ...service.files.get(id), parts: undefined })],
  ["POST", /^\/form$/, storeForm],
  ["PUT", /^\/parts\/(.+)$/, storePart],
];
