/** One attempt of a request. */

import { LongshoreError, type NoAnswer, NotConnected, TimedOut } from "./error_base.js";
import { apiError, readDetail } from "./errors.js";
import type { CallOptions, ResolvedOptions } from "./options.js";

export interface SentRequest {
  method: string;
  url: string;
  headers: Record<string, string>;
  body?: () => BodyInit;
}

// Failures before the first byte of the request was sent.
const NOT_SENT_CODES = ["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH", "ENETUNREACH", "UND_ERR_CONNECT_TIMEOUT"];

/** Throws an `ApiError` for an answer that is no success, and `NoAnswer` if there is none. */
export async function attempt<T>(
  options: ResolvedOptions,
  request: SentRequest,
  call: CallOptions & { waitSeconds?: number | undefined },
  read: (response: Response) => Promise<T>,
): Promise<T> {
  const seconds = (call.timeout ?? options.timeout) + (call.waitSeconds ?? 0);
  const timeout = new AbortController();
  const timer = setTimeout(() => timeout.abort(), 1000 * seconds);
  const signal = call.signal ? AbortSignal.any([call.signal, timeout.signal]) : timeout.signal;
  const { method, headers } = request;
  const body = request.body?.() ?? null;
  try {
    const response = await options.fetch(request.url, { method, headers, body, signal, redirect: "manual" });
    if (isRedirect(response)) throw new LongshoreError(`${request.url.split("?")[0]} is redirected: correct the base URL`);
    if (response.ok) return await read(response);
    throw await refusal(response);
  } catch (error) {
    if (call.signal?.aborted) throw call.signal.reason;
    if (timeout.signal.aborted) throw new TimedOut(`no answer within ${seconds} s`, true, error);
    throw isNetworkError(error) ? connectionError(error) : error;
  } finally {
    // A stream is read after this: only the answer's beginning has a timeout.
    clearTimeout(timer);
  }
}

// A redirect would send the key to another address.
function isRedirect({ type, status }: Response): boolean {
  return type === "opaqueredirect" || (status >= 300 && status < 400);
}

async function refusal(response: Response): Promise<Error> {
  const should = response.headers.get("x-should-retry");
  return apiError(response.status, readDetail(await response.text()), {
    requestId: response.headers.get("x-request-id") ?? undefined,
    retryAfter: readRetryAfter(response.headers),
    shouldRetry: should === null ? undefined : should === "true",
  });
}

/** In seconds. */
export function readRetryAfter(headers: Headers): number | undefined {
  const seconds = Number(headers.get("retry-after") ?? NaN);
  return Number.isFinite(seconds) && seconds >= 0 ? seconds : undefined;
}

// fetch throws a TypeError for every failure of the network, and a body that breaks off is one, too.
function isNetworkError(error: unknown): boolean {
  const isOurs = error instanceof LongshoreError;
  return error instanceof TypeError || (error instanceof Error && "code" in error && !isOurs);
}

/** The error of a connection that failed or was lost. */
export function connectionError(error: unknown): NoAnswer {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  const code = cause instanceof Error && "code" in cause ? String(cause.code) : "";
  const wasSent = !NOT_SENT_CODES.includes(code);
  const what = cause instanceof Error ? cause.message : String(cause);
  return new NotConnected(`${wasSent ? "the connection was lost" : "not connected"}: ${what || code}`, wasSent, error);
}
