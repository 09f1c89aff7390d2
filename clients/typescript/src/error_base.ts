/** What errors have in common. */

/** One thing wrong with a request, and where. */
export interface Fault {
  type: string;
  loc: (string | number)[];
  msg: string;
}

/** The base of all errors of this package. */
export class LongshoreError extends Error {
  override name = "LongshoreError";
}

export interface ApiErrorFields {
  status: number;
  code?: string | undefined;
  detail?: unknown;
  requestId?: string | undefined;
  /** In seconds. */
  retryAfter?: number | undefined;
  /** The header `x-should-retry`. */
  shouldRetry?: boolean | undefined;
}

/** The API refused a request. A class of its own exists for each known error. */
export class ApiError extends LongshoreError {
  override name = "ApiError";
  readonly status: number;
  readonly code: string | undefined;
  readonly detail: unknown;
  readonly requestId: string | undefined;
  /** In seconds. */
  readonly retryAfter: number | undefined;
  /** What the server advises, if the status alone misleads. */
  readonly shouldRetry: boolean | undefined;

  constructor(message: string, fields: ApiErrorFields) {
    const { status, code, requestId } = fields;
    const request = requestId ? ` (request ${requestId})` : "";
    super(`${code ? `${status} ${code}` : status}: ${message}${request}`);
    this.status = status;
    this.code = code;
    this.detail = fields.detail;
    this.requestId = requestId;
    this.retryAfter = fields.retryAfter;
    this.shouldRetry = fields.shouldRetry;
  }

  /** The further fields of the error, such as `supported_models` or `upgrade_url`. */
  get fields(): Record<string, unknown> {
    const isObject = typeof this.detail === "object" && this.detail !== null && !Array.isArray(this.detail);
    return isObject ? (this.detail as Record<string, unknown>) : {};
  }

  /** The validation errors. */
  get faults(): Fault[] {
    return Array.isArray(this.detail) ? (this.detail as Fault[]) : [];
  }
}

/** There was no answer. `maybeAccepted` says whether the request may have reached the server. */
export class NoAnswer extends LongshoreError {
  override name = "NoAnswer";
  constructor(
    message: string,
    readonly maybeAccepted: boolean,
    cause?: unknown,
  ) {
    super(message, { cause });
  }
}

/** The connection failed or was lost. */
export class NotConnected extends NoAnswer {
  override name = "NotConnected";
}

/** The answer did not come in time. */
export class TimedOut extends NoAnswer {
  override name = "TimedOut";
}

/** A cargo has no answer. `run`, `result` and `map` with `onError: "raise"` throw it. */
export class CargoError extends LongshoreError {
  override name = "CargoError";
  constructor(
    readonly cargoId: string,
    readonly error: string,
    readonly code?: string | undefined,
  ) {
    super(`${cargoId}: ${error}`);
  }
}

/** Processing failed. */
export class CargoFailed extends CargoError {
  override name = "CargoFailed";
}

/** The cargo was cancelled. */
export class CargoCancelled extends CargoError {
  override name = "CargoCancelled";
}

/** No provider had the cargo at its deadline. */
export class DeadlineMissed extends CargoError {
  override name = "DeadlineMissed";
}

/** The timeout is over. `client.cargo.result(error.cargoId)` continues, also in another process. */
export class StillUnderWay extends CargoError {
  override name = "StillUnderWay";
}

/** `map` would cost more than `maxCost`. Nothing was loaded. */
export class CostLimitExceeded extends LongshoreError {
  override name = "CostLimitExceeded";
}

/** The object store refused the bytes of a file. */
export class FileUploadFailed extends LongshoreError {
  override name = "FileUploadFailed";
}

/** A callback is not signed with any of the secrets. `reason` says why. */
export class InvalidSignature extends LongshoreError {
  override name = "InvalidSignature";
  constructor(readonly reason: string) {
    super(reason);
  }
}
