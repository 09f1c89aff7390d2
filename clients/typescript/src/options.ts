/** The options of a client and of a call. */

import { LongshoreError } from "./error_base.js";
import { systemTiming, type Timing } from "./timing.js";

const DEFAULT_BASE_URL = "http://127.0.0.1:8080";
const DEFAULT_TIMEOUT_SECONDS = 60;
const DEFAULT_RETRY_SECONDS = 120;

export interface ClientOptions {
  /** By default `LONGSHORE_API_KEY` of the environment. */
  apiKey?: string;
  /** By default `LONGSHORE_BASE_URL` of the environment. */
  baseUrl?: string;
  /** Of one attempt, in seconds. A call that waits has its wait in addition. */
  timeout?: number;
  /** How long a call is retried, in seconds. `Infinity`: without end. */
  retryFor?: number;
  fetch?: typeof fetch;
  /** Called before each attempt, for traces. It never sees the key, nor the signature of an upload. */
  onRequest?: (request: RequestAttempt) => void;
  /** For tests. */
  timing?: Timing;
}

/** An attempt of a request. */
export interface RequestAttempt {
  method: string;
  url: string;
  /** Counts from 0. */
  attempt: number;
}

export interface CallOptions {
  signal?: AbortSignal | undefined;
  /** Of one attempt, in seconds. */
  timeout?: number;
  /** In seconds. */
  retryFor?: number;
}

export interface LoadOptions extends CallOptions {
  /** By default a random key, so that a lost answer does not load twice. */
  idempotencyKey?: string;
}

export type ResolvedOptions = Required<Omit<ClientOptions, "onRequest">> & { onRequest: ClientOptions["onRequest"] | undefined };

/** Takes what is missing from the environment. */
export function resolveOptions(options: ClientOptions): ResolvedOptions {
  const apiKey = (options.apiKey ?? environment("LONGSHORE_API_KEY"))?.trim();
  if (!apiKey) throw new LongshoreError("there is no API key: set LONGSHORE_API_KEY, or pass apiKey");
  const baseUrl = options.baseUrl ?? environment("LONGSHORE_BASE_URL") ?? DEFAULT_BASE_URL;
  return {
    apiKey,
    baseUrl: baseUrl.replace(/\/+$/, ""),
    timeout: options.timeout ?? DEFAULT_TIMEOUT_SECONDS,
    retryFor: options.retryFor ?? DEFAULT_RETRY_SECONDS,
    // Browsers refuse to call fetch as a method of another object.
    fetch: options.fetch ?? ((input, init) => fetch(input, init)),
    timing: options.timing ?? systemTiming,
    onRequest: options.onRequest,
  };
}

// Browsers and workers have no process.
function environment(name: string): string | undefined {
  return globalThis.process?.env?.[name] || undefined;
}
