/** All errors. `ApiError` has a class for each kind; unknown codes get the class of their status. */

import type { ApiErrorFields, Fault } from "./error_base.js";
import { ApiError, CargoCancelled, CargoError, CargoFailed, DeadlineMissed } from "./error_base.js";
import { KNOWN_ERRORS, ServerError } from "./error_classes.js";

export * from "./error_base.js";
export * from "./error_classes.js";

type Circumstances = Pick<ApiErrorFields, "requestId" | "retryAfter" | "shouldRetry">;

/** The error of a `detail`: a text, an object with a code, or a list of validation errors. */
export function apiError(status: number, detail: unknown, circumstances: Circumstances = {}): ApiError {
  const { code, message } = describe(detail);
  const type = classOf(status, code);
  return new type(message, { status, code, detail, ...circumstances });
}

function classOf(status: number, code: string | undefined): typeof ApiError {
  const known = (code && KNOWN_ERRORS[`${status} ${code}`]) || KNOWN_ERRORS[String(status)];
  return known?.type ?? (status >= 500 ? ServerError : ApiError);
}

function describe(detail: unknown): { code?: string | undefined; message: string } {
  if (Array.isArray(detail)) {
    const faults = (detail as Fault[]).map(({ loc, msg }) => `${(loc ?? []).join(".")}: ${msg}`);
    return { message: faults.join("; ") };
  }
  if (typeof detail === "object" && detail !== null) {
    const { error, message } = detail as { error?: string; message?: string };
    return { code: error, message: message ?? JSON.stringify(detail) };
  }
  return { message: detail ? String(detail) : "no detail" };
}

/** The `detail` of an error body, or the body as text if a proxy wrote it. */
export function readDetail(body: string): unknown {
  try {
    const read: unknown = JSON.parse(body);
    const isObject = typeof read === "object" && read !== null;
    return isObject && "detail" in read ? read.detail : read;
  } catch {
    return body.slice(0, 1000);
  }
}

/** The error of a cargo that is completed without an answer. */
export function outcomeError(cargoId: string, error: string | null, code: string | null): CargoError {
  const types: Record<string, typeof CargoError> = { cancelled: CargoCancelled, deadline_exceeded: DeadlineMissed };
  const type = types[code ?? ""] ?? CargoFailed;
  return new type(cargoId, error ?? "processing failed", code ?? undefined);
}
