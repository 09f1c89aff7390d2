// The API in memory, as a fetch function.

import { cargoRoutes } from "./fake_cargo.mjs";
import { fileRoutes } from "./fake_files.mjs";
import { groupRoutes } from "./fake_groups.mjs";

export class FakeService {
  cargo = new Map();
  keys = new Map();
  groups = new Map();
  files = new Map();
  store = new Map();
  requests = [];
  /** Each is called with a request, before it is handled; what it returns is the answer. */
  faults = [];
  /** Whether a cargo is completed when it is loaded. */
  completesAtOnce = true;
  #waiters = new Set();
  #routes = [...cargoRoutes, ...groupRoutes, ...fileRoutes];

  fetch = async (url, init = {}) => {
    const request = { url: new URL(url), method: init.method ?? "GET", headers: new Headers(init.headers) };
    request.body = typeof init.body === "string" ? init.body : (init.body ?? null);
    request.signal = init.signal;
    request.key = request.headers.get("idempotency-key");
    this.requests.push(request);
    init.signal?.throwIfAborted();
    const fault = this.faults.shift();
    const answer = await fault?.(request, () => this.handle(request));
    return answer ?? this.handle(request);
  };

  async handle(request) {
    for (const [method, pattern, handler] of this.#routes) {
      const found = request.method === method && pattern.exec(request.url.pathname);
      if (found) {
        const isJson = typeof request.body === "string" && request.body !== "";
        return handler(this, { ...request, json: isJson ? JSON.parse(request.body) : {}, id: found[1] });
      }
    }
    return refuse(404, "Not found");
  }

  complete(cargo, outcome = {}) {
    const text = cargo.params.messages?.at(-1)?.content ?? "";
    const failure = /\[mock:fail=(.*?)\]/.exec(text)?.[1];
    const response = { type: "message", role: "assistant", content: [{ type: "text", text: `echo ${text}` }] };
    const success = failure === undefined;
    Object.assign(cargo, { status: "COMPLETED", success, response: success ? response : null });
    Object.assign(cargo, success ? {} : { error: failure, error_code: "request_rejected" }, outcome);
    const group = this.groups.get(cargo.group_id);
    if (group) group.landed.push(cargo);
    this.wake();
  }

  completeAll() {
    for (const cargo of this.cargo.values()) if (cargo.success === null) this.complete(cargo);
  }

  wake() {
    for (const waiter of this.#waiters) waiter();
  }

  /** Until something completes, or the request is aborted. */
  change(signal) {
    return new Promise((resolve, reject) => {
      const wake = () => {
        this.#waiters.delete(wake);
        resolve();
      };
      this.#waiters.add(wake);
      signal?.addEventListener("abort", () => reject(signal.reason), { once: true });
    });
  }

  paths() {
    return this.requests.map(({ method, url }) => `${method} ${url.pathname}`);
  }
}

export const json = (body, status = 200, headers = {}) => Response.json(body, { status, headers });
export const refuse = (status, detail, headers = {}) => json({ detail }, status, headers);

/** The request arrives, and the connection is cut before the answer. */
export const cutAfterRequest = async (_request, handle) => {
  await handle();
  throw Object.assign(new TypeError("fetch failed"), { cause: Object.assign(new Error("cut"), { code: "ECONNRESET" }) });
};

export const notConnected = () => {
  const cause = Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" });
  throw Object.assign(new TypeError("fetch failed"), { cause });
};
