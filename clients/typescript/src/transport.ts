/** Sends requests: retries, timeouts, errors. */

import { attempt, type SentRequest } from "./attempt.js";
import { ApiError, NoAnswer } from "./errors.js";
import { toJson } from "./json.js";
import type { CallOptions, ResolvedOptions } from "./options.js";
import { decideRetry } from "./retry.js";
import { VERSION } from "./version.js";

export interface Call extends CallOptions {
  method: string;
  path: string;
  /** Undefined and null are left out; an array repeats its name. */
  query?: object | undefined;
  body?: unknown;
  idempotencyKey?: string | undefined;
  /** Whether a repeat is safe without a key: by nature, or because each item has a key. */
  idempotent?: boolean;
  /** How long the server may wait before it answers. */
  waitSeconds?: number | undefined;
}

export class Transport {
  constructor(readonly options: ResolvedOptions) {}

  /** The answer as JSON. */
  async json<T>(call: Call): Promise<T> {
    return (await this.answer<T>(call)).data;
  }

  /** The answer as JSON, with its headers. */
  answer<T>(call: Call): Promise<{ data: T; headers: Headers }> {
    return this.send(call, async (response) => {
      const text = await response.text();
      return { data: (text ? JSON.parse(text) : undefined) as T, headers: response.headers };
    });
  }

  /** The answer, whose body the caller reads. */
  stream(call: Call): Promise<Response> {
    return this.send(call, (response) => Promise.resolve(response));
  }

  /** A request to the object store, which must not see the key. A new body for each attempt. */
  store(request: SentRequest, options: CallOptions): Promise<Response> {
    const drain = async (response: Response) => {
      await response.arrayBuffer();
      return response;
    };
    const call = { ...options, method: request.method, path: "", idempotent: true };
    // The query of a grant is its signature, which allows to write the file.
    return this.repeat(call, request, drain, request.url.split("?")[0]);
  }

  private send<T>(call: Call, read: (response: Response) => Promise<T>): Promise<T> {
    const headers: Record<string, string> = { Accept: "application/json", "X-API-Key": this.options.apiKey };
    // Browsers do not let scripts set it.
    if (globalThis.process?.versions?.node) headers["User-Agent"] = `longshore-node/${VERSION}`;
    if (call.idempotencyKey !== undefined) headers["Idempotency-Key"] = call.idempotencyKey;
    const request: SentRequest = { method: call.method, url: this.url(call), headers };
    if (call.body !== undefined) {
      headers["Content-Type"] = "application/json";
      // Once, so that a repeat has the same bytes.
      const bytes = toJson(call.body);
      request.body = () => bytes;
    }
    return this.repeat(call, request, read);
  }

  private async repeat<T>(
    call: Call,
    request: SentRequest,
    read: (response: Response) => Promise<T>,
    reportedUrl = request.url,
  ): Promise<T> {
    const { timing, retryFor } = this.options;
    const budget = 1000 * (call.retryFor ?? retryFor);
    const start = timing.now();
    for (let number = 0; ; number += 1) {
      call.signal?.throwIfAborted();
      this.options.onRequest?.({ method: request.method, url: reportedUrl, attempt: number });
      try {
        return await attempt(this.options, request, call, read);
      } catch (error) {
        const delay = this.delayBefore(error, call, number);
        const isOver = delay === undefined || timing.now() - start + delay > budget;
        if (isOver) throw error;
        await timing.sleep(delay, call.signal);
      }
    }
  }

  /** In milliseconds; undefined if the error is final. */
  private delayBefore(error: unknown, call: Call, attempt: number): number | undefined {
    const isAnswer = error instanceof ApiError;
    if (!isAnswer && !(error instanceof NoAnswer)) return undefined;
    const wait = decideRetry({
      method: call.method,
      idempotencyKey: call.idempotencyKey !== undefined,
      idempotent: call.idempotent ?? false,
      bodySent: isAnswer || error.maybeAccepted,
      status: isAnswer ? error.status : 0,
      code: isAnswer ? error.code : undefined,
      retryAfter: isAnswer ? error.retryAfter : undefined,
      shouldRetry: isAnswer ? error.shouldRetry : undefined,
      attempt,
    });
    return wait && 1000 * (wait.shortest + this.options.timing.random() * (wait.longest - wait.shortest));
  }

  private url({ path, query }: Call): string {
    const fields = Object.entries(query ?? {}).flatMap(([name, value]) =>
      [value].flat().flatMap((each) => (each === undefined || each === null ? [] : [[name, String(each)]])),
    );
    const text = new URLSearchParams(fields).toString();
    return `${this.options.baseUrl}${path}${text ? `?${text}` : ""}`;
  }
}
