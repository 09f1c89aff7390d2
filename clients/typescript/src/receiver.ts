/** A receiver of callbacks over the Request of the Fetch API: Next.js, Hono, Deno, Bun, workers. */

import { verify, type VerifyOptions } from "./verification.js";
import { InvalidSignature } from "./error_base.js";
import type { Callback } from "./types.js";

const MAX_BODY_BYTES = 32 << 20;

/** Remembers callbacks that were handled, so that a repeat is not handled again. */
export interface Seen {
  /** Whether this id was handled. */
  has(id: string): boolean | Promise<boolean>;
  /** Called after the handler has returned. A crash before that means twice, and never not at all. */
  add(id: string): void | Promise<void>;
}

/** Until the process ends. It keeps the newest ids. */
export class MemorySeen implements Seen {
  readonly #ids = new Set<string>();

  constructor(private readonly maxIds = 100_000) {}

  has(id: string): boolean {
    return this.#ids.has(id);
  }

  add(id: string): void {
    this.#ids.add(id);
    const [oldest] = this.#ids;
    if (this.#ids.size > this.maxIds && oldest !== undefined) this.#ids.delete(oldest);
  }
}

export interface RouteOptions extends Pick<VerifyOptions, "tolerance"> {
  secrets: string | readonly string[];
  seen?: Seen;
  maxBytes?: number;
}

/** Answers 204 after the handler has returned. An error of the handler is yours: Longshore sends the callback again. */
export function callbackRoute(
  { secrets, seen, maxBytes = MAX_BODY_BYTES, ...options }: RouteOptions,
  handle: (callback: Callback) => void | Promise<void>,
): (request: Request) => Promise<Response> {
  return async (request) => {
    if (request.bodyUsed) return refuse(400, "the body was read already: verify it before you parse it");
    if (Number(request.headers.get("content-length") ?? 0) > maxBytes) return refuse(413, "the body is too large");
    const body = new Uint8Array(await request.arrayBuffer());
    if (body.length > maxBytes) return refuse(413, "the body is too large");
    try {
      const callback = await verify(body, request.headers, secrets, options);
      // The id of the cargo, or of the group: callbacks of groups have no cargo_id.
      const id = request.headers.get("webhook-id") ?? callback.cargo_id;
      if (await seen?.has(id)) return new Response(null, { status: 204 });
      await handle(callback);
      await seen?.add(id);
      return new Response(null, { status: 204 });
    } catch (error) {
      if (error instanceof InvalidSignature) return refuse(401, error.reason);
      throw error;
    }
  };
}

function refuse(status: number, message: string): Response {
  return Response.json({ message }, { status });
}
