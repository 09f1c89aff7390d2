/** Verifies and signs callbacks. */

import { InvalidSignature } from "./error_base.js";
import { verifyToken, signToken } from "./signatures.js";
import type { Callback } from "./types.js";


const TOLERANCE_SECONDS = 300;
const MAX_SIGNATURES = 16;

export type CallbackHeaders = Headers | Record<string, string | string[] | undefined>;

export interface VerifyOptions {
  /** How old or early a callback may be, in seconds. */
  tolerance?: number;
  /** In seconds since the epoch. */
  now?: number;
}

/**
 * Verifies a callback and parses it. The body must be the bytes that arrived, not parsed and written again.
 *
 * `secrets` are those of the project: `whsec_…`, or `whpk_…` for Ed25519. Any of them may have signed.
 */
export async function verify(
  body: string | Uint8Array,
  headers: CallbackHeaders,
  secrets: string | readonly string[],
  { tolerance = TOLERANCE_SECONDS, now = Date.now() / 1000 }: VerifyOptions = {},
): Promise<Callback> {
  if (typeof body !== "string" && !(body instanceof Uint8Array)) {
    throw new InvalidSignature("the body was parsed already: pass the raw bytes");
  }
  const id = readHeader(headers, "webhook-id");
  const timestamp = readHeader(headers, "webhook-timestamp");
  const signatures = readHeader(headers, "webhook-signature").split(" ").slice(0, MAX_SIGNATURES);
  const age = now - (/^\d+$/.test(timestamp) ? Number(timestamp) : NaN);
  if (Number.isNaN(age)) throw new InvalidSignature("webhook-timestamp is no number of seconds");
  if (Math.abs(age) > tolerance) throw new InvalidSignature(`the callback is ${Math.round(age)} seconds old`);
  const bytes = typeof body === "string" ? new TextEncoder().encode(body) : body;
  const signed = signedBytes(id, timestamp, bytes);
  for (const secret of [secrets].flat()) {
    for (const token of signatures) {
      if (await verifyToken(secret, token, signed)) return JSON.parse(new TextDecoder().decode(bytes)) as Callback;
    }
  }
  throw new InvalidSignature("no signature fits one of the secrets");
}

export interface SignOptions {
  /** By default the `cargo_id` of the body. */
  messageId?: string;
  /** In seconds since the epoch. By default now. */
  timestamp?: number;
}

/** The headers of a signed callback, for tests of your receiver. */
export async function sign(body: string, secret: string, options: SignOptions = {}): Promise<Record<string, string>> {
  const id = options.messageId ?? (JSON.parse(body) as Callback).cargo_id;
  const timestamp = String(options.timestamp ?? Math.floor(Date.now() / 1000));
  const token = await signToken(secret, signedBytes(id, timestamp, new TextEncoder().encode(body)));
  return { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": token };
}

function readHeader(headers: CallbackHeaders, name: string): string {
  const value = headers instanceof Headers ? headers.get(name) : fieldOf(headers, name);
  if (!value) throw new InvalidSignature(`the header ${name} is missing`);
  return value;
}

function fieldOf(headers: Record<string, string | string[] | undefined>, name: string): string | undefined {
  const [, value] = Object.entries(headers).find(([key]) => key.toLowerCase() === name) ?? [];
  return Array.isArray(value) ? value[0] : value;
}

function signedBytes(id: string, timestamp: string, body: Uint8Array): Uint8Array<ArrayBuffer> {
  const head = new TextEncoder().encode(`${id}.${timestamp}.`);
  const bytes = new Uint8Array(head.length + body.length);
  bytes.set(head);
  bytes.set(body, head.length);
  return bytes;
}
