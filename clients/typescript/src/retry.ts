/**
 * Whether a failed request is sent again, and how long to wait before that.
 *
 * `clients/retry_cases.toml` has the cases that all clients share.
 */

import { KNOWN_ERRORS, type RetryRule } from "./error_classes.js";

const REPEATABLE_METHODS = ["GET", "HEAD", "PUT", "DELETE"];
const TOO_MANY_REQUESTS = 429;
const BACKOFF = { first: 0.5, longest: 30 };
const SLOW_BACKOFF = { first: 1, longest: 60 };
const RETRY_AFTER_SPREAD = 0.1;
// 2^16 is beyond every longest wait.
const MAX_EXPONENT = 16;

/** A request that failed. */
export interface Failure {
  method: string;
  /** Whether the request has an idempotency key, or each of its items. */
  idempotencyKey: boolean;
  /** Whether the route is idempotent by nature. */
  idempotent?: boolean;
  /** Whether any byte of the request may have reached the server. */
  bodySent: boolean;
  /** 0 if there was no answer. */
  status: number;
  code?: string | undefined;
  /** In seconds. */
  retryAfter?: number | undefined;
  shouldRetry?: boolean | undefined;
  /** How many retries there were before. */
  attempt: number;
}

/** The seconds between which the wait is drawn, evenly. */
export interface Wait {
  shortest: number;
  longest: number;
}

/** Undefined: the request is not sent again. */
export function decideRetry(failure: Failure): Wait | undefined {
  const { status, attempt, retryAfter, shouldRetry } = failure;
  if (status === 0) {
    return !failure.bodySent || isRepeatable(failure) ? backoff(BACKOFF, attempt) : undefined;
  }
  const rule = ruleOf(status, failure.code);
  if (shouldRetry === false || (rule === "no" && !shouldRetry)) return undefined;
  // A request that a limit refused had no effect.
  if (status !== TOO_MANY_REQUESTS && !isRepeatable(failure)) return undefined;
  if (retryAfter !== undefined && rule !== "backoff") {
    const spread = retryAfter * RETRY_AFTER_SPREAD;
    return { shortest: retryAfter - spread, longest: retryAfter + spread };
  }
  return backoff(rule === "slow_backoff" ? SLOW_BACKOFF : BACKOFF, attempt);
}

function isRepeatable({ method, idempotencyKey, idempotent }: Failure): boolean {
  return REPEATABLE_METHODS.includes(method) || idempotencyKey || idempotent === true;
}

export function ruleOf(status: number, code: string | undefined): RetryRule {
  const known = (code && KNOWN_ERRORS[`${status} ${code}`]) || KNOWN_ERRORS[String(status)];
  return known?.retry ?? (status >= 500 ? "backoff" : "no");
}

function backoff(bounds: { first: number; longest: number }, attempt: number): Wait {
  const longest = bounds.first * 2 ** Math.min(attempt, MAX_EXPONENT);
  return { shortest: 0, longest: Math.min(longest, bounds.longest) };
}
