// Generated from clients/errors.toml by `npm run generate`. Do not edit.

import { ApiError } from "./error_base.js";

export type RetryRule = "no" | "backoff" | "slow_backoff" | "retry_after";

/**
 * What to do, by `code`:
 * - others: The body is no JSON, or it ended early. Send the whole body as UTF-8 JSON.
 * - `invalid_request`: The body ended early. Send the whole body.
 */
export class BadRequest extends ApiError {
  override name = "BadRequest";
}

/** Use one of supported_models. Ids are case-sensitive. */
export class InvalidModel extends ApiError {
  override name = "InvalidModel";
}

/** Send a valid key of the project in X-API-Key. The message says what is wrong with this one. */
export class Unauthenticated extends ApiError {
  override name = "Unauthenticated";
}

/** Activate the project on the dashboard, or use a key of another one. */
export class ProjectInactive extends ApiError {
  override name = "ProjectInactive";
}

/**
 * What to do, by `code`:
 * - `key_address_not_allowed`: Use the key from one of its addresses, or use another key.
 * - `key_right_missing`: Use a key with the right that the field right names.
 * - `key_model_not_allowed`: Use one of allowed_models, or another key.
 */
export class KeyNotAllowed extends ApiError {
  override name = "KeyNotAllowed";
}

/** Upgrade the plan to store files. */
export class FilesNotAllowed extends ApiError {
  override name = "FilesNotAllowed";
}

/** Delete files, or upgrade the plan. */
export class StorageQuotaExceeded extends ApiError {
  override name = "StorageQuotaExceeded";
}

/**
 * What to do, by `code`:
 * - others: Check the id or the path. What belongs to another project is not found either.
 * - `file_not_found`: Check the id of the file. Files of other projects are not found either.
 * - `group_not_found`: Check the id of the group. Groups of other projects are not found either.
 */
export class NotFound extends ApiError {
  override name = "NotFound";
}

/** The path does not have this method. See /docs. */
export class MethodNotAllowed extends ApiError {
  override name = "MethodNotAllowed";
}

/**
 * What to do, by `code`:
 * - others: The body arrived too slowly. Send the request again.
 * - `request_timeout`: The body arrived too slowly. Send the request again.
 */
export class RequestTimeout extends ApiError {
  override name = "RequestTimeout";
}

/** The key was used with another body. Use a new key for a new request. */
export class IdempotencyKeyReused extends ApiError {
  override name = "IdempotencyKeyReused";
}

/** Wait until the cargo is completed. Without a callback_url, read the answer from tracking. */
export class NothingToSend extends ApiError {
  override name = "NothingToSend";
}

/** The group takes no more cargo. Use another group. */
export class GroupSealed extends ApiError {
  override name = "GroupSealed";
}

/** The group has the maximum of cargo. Use another group. */
export class GroupFull extends ApiError {
  override name = "GroupFull";
}

/** Seal or cancel groups: too many are not completed. */
export class TooManyGroups extends ApiError {
  override name = "TooManyGroups";
}

/** Stop a listener of the project, or listen under the name of one to replace it. */
export class TooManyListeners extends ApiError {
  override name = "TooManyListeners";
}

/** Load what is missing, or seal the group with the total that it has. */
export class GroupTotalMismatch extends ApiError {
  override name = "GroupTotalMismatch";
}

/** The group has another load under this custom_id. Use another custom_id. */
export class CustomIdReused extends ApiError {
  override name = "CustomIdReused";
}

/** The group has another cargo at this position. Use another position, or none. */
export class PositionTaken extends ApiError {
  override name = "PositionTaken";
}

/** The status of the file does not allow this. Read the file first. */
export class InvalidState extends ApiError {
  override name = "InvalidState";
}

/** Wait until the cargo is completed, or delete with force=true. */
export class FileInUse extends ApiError {
  override name = "FileInUse";
}

/** Complete or delete an open upload first. */
export class TooManyUploads extends ApiError {
  override name = "TooManyUploads";
}

/**
 * What to do, by `code`:
 * - others: The body is too large. Make it smaller, or send files by POST /files.
 * - `request_too_large`: The body is too large. Make it smaller.
 * - `too_many_items`: Send fewer items in one request.
 * - `file_too_large`: The file exceeds the limit of its kind. Make it smaller, or split it.
 */
export class TooLarge extends ApiError {
  override name = "TooLarge";
}

/**
 * What to do, by `code`:
 * - others: Send the body uncompressed, without Content-Encoding.
 * - `unsupported_content_encoding`: Send the body uncompressed, without Content-Encoding.
 * - `unsupported_media_type`: Declare one of the supported media types.
 */
export class UnsupportedMediaType extends ApiError {
  override name = "UnsupportedMediaType";
}

/**
 * What to do, by `code`:
 * - others: Correct the fields that detail lists, with their locations.
 * - `invalid_request`: Correct the fields that the message names.
 */
export class Invalid extends ApiError {
  override name = "Invalid";
}

/**
 * What to do, by `code`:
 * - `model_capability_missing`: Use a model with this capability: GET /models lists them.
 * - `file_not_found`: The load references a file that the project does not have.
 * - `file_not_ready`: Complete the file, and wait until its status is ready.
 * - `file_kind_mismatch`: Reference the file in a block of its kind.
 */
export class FileNotUsable extends ApiError {
  override name = "FileNotUsable";
}

/**
 * What to do, by `code`:
 * - `size_mismatch`: The bytes do not have the declared size. Create a new file.
 * - `checksum_mismatch`: The bytes do not have the declared SHA-256. Create a new file.
 * - `magic_byte_mismatch`: The bytes are not of the declared media type. Create a new file.
 * - `malformed_document`: The document is damaged. Repair it and create a new file.
 * - `malformed_image`: The image is damaged. Repair it and create a new file.
 * - `malformed_video`: The video is damaged. Repair it and create a new file.
 * - `too_many_pages`: The PDF has more than 100 pages. Split it.
 * - `video_too_long`: The video is longer than 30 minutes. Split it.
 * - `encrypted_document`: Save the document without a password and create a new file.
 * - `malware_detected`: The scanner found malware. Do not upload the file again.
 * - `scan_timeout`: The scan did not end in time. Create a new file to try again.
 * - `scan_limit_exceeded`: The scanner cannot scan the whole file. Make it smaller.
 * - `upload_missing`: Upload all bytes before you complete the file.
 * - `upload_aborted`: The upload was aborted. Create a new file.
 * - `upload_abandoned`: The upload was never completed. Create a new file.
 */
export class FileRejected extends ApiError {
  override name = "FileRejected";
}

/** Too many requests of the project. Wait for Retry-After; without it, back off exponentially. */
export class Backstop extends ApiError {
  override name = "Backstop";
}

/** Wait for Retry-After. */
export class RateLimited extends ApiError {
  override name = "RateLimited";
}

/** The tokens of the month are used up. Upgrade the plan, or wait for resets_at. */
export class TokenQuotaExceeded extends ApiError {
  override name = "TokenQuotaExceeded";
}

/** Add credit, or lower max_tokens. */
export class InsufficientCredits extends ApiError {
  override name = "InsufficientCredits";
}

/** The cap of the key is reached. Use another key, or wait for resets_at. */
export class SpendingCapExceeded extends ApiError {
  override name = "SpendingCapExceeded";
}

/**
 * What to do, by `code`:
 * - others: Our failure. Report it with the X-Request-Id.
 * - `internal_error`: Our failure. Report it with the X-Request-Id.
 */
export class ServerError extends ApiError {
  override name = "ServerError";
}

/**
 * What to do, by `code`:
 * - others: Wait for Retry-After, then send the same request again.
 * - `service_unavailable`: Wait for Retry-After, then send the same request again.
 * - `storage_unavailable`: The object store is unavailable. Wait for Retry-After.
 * - `scanner_unavailable`: The malware scanner is unavailable. Wait for Retry-After.
 */
export class Unavailable extends ApiError {
  override name = "Unavailable";
}

/** By status and code. A status alone is the fallback for codes that this version does not know. */
export const KNOWN_ERRORS: Readonly<Record<string, { type: typeof ApiError; retry: RetryRule }>> = {
  "400": { type: BadRequest, retry: "no" },
  "400 invalid_model": { type: InvalidModel, retry: "no" },
  "400 invalid_request": { type: BadRequest, retry: "no" },
  "401": { type: Unauthenticated, retry: "no" },
  "403": { type: ProjectInactive, retry: "no" },
  "403 key_address_not_allowed": { type: KeyNotAllowed, retry: "no" },
  "403 key_right_missing": { type: KeyNotAllowed, retry: "no" },
  "403 key_model_not_allowed": { type: KeyNotAllowed, retry: "no" },
  "403 files_not_allowed_for_plan": { type: FilesNotAllowed, retry: "no" },
  "403 quota_exceeded": { type: StorageQuotaExceeded, retry: "no" },
  "404": { type: NotFound, retry: "no" },
  "404 file_not_found": { type: NotFound, retry: "no" },
  "404 group_not_found": { type: NotFound, retry: "no" },
  "405": { type: MethodNotAllowed, retry: "no" },
  "408": { type: RequestTimeout, retry: "backoff" },
  "408 request_timeout": { type: RequestTimeout, retry: "backoff" },
  "409 idempotency_key_reused": { type: IdempotencyKeyReused, retry: "no" },
  "409 nothing_to_send": { type: NothingToSend, retry: "no" },
  "409 group_sealed": { type: GroupSealed, retry: "no" },
  "409 group_full": { type: GroupFull, retry: "no" },
  "409 too_many_groups": { type: TooManyGroups, retry: "no" },
  "409 too_many_listeners": { type: TooManyListeners, retry: "no" },
  "409 group_total_mismatch": { type: GroupTotalMismatch, retry: "no" },
  "409 custom_id_reused": { type: CustomIdReused, retry: "no" },
  "409 position_taken": { type: PositionTaken, retry: "no" },
  "409 invalid_state": { type: InvalidState, retry: "no" },
  "409 file_in_use": { type: FileInUse, retry: "no" },
  "409 too_many_upload_sessions": { type: TooManyUploads, retry: "no" },
  "413": { type: TooLarge, retry: "no" },
  "413 request_too_large": { type: TooLarge, retry: "no" },
  "413 too_many_items": { type: TooLarge, retry: "no" },
  "413 file_too_large": { type: TooLarge, retry: "no" },
  "415": { type: UnsupportedMediaType, retry: "no" },
  "415 unsupported_content_encoding": { type: UnsupportedMediaType, retry: "no" },
  "415 unsupported_media_type": { type: UnsupportedMediaType, retry: "no" },
  "422": { type: Invalid, retry: "no" },
  "422 invalid_request": { type: Invalid, retry: "no" },
  "422 model_capability_missing": { type: FileNotUsable, retry: "no" },
  "422 file_not_found": { type: FileNotUsable, retry: "no" },
  "422 file_not_ready": { type: FileNotUsable, retry: "no" },
  "422 file_kind_mismatch": { type: FileNotUsable, retry: "no" },
  "422 size_mismatch": { type: FileRejected, retry: "no" },
  "422 checksum_mismatch": { type: FileRejected, retry: "no" },
  "422 magic_byte_mismatch": { type: FileRejected, retry: "no" },
  "422 malformed_document": { type: FileRejected, retry: "no" },
  "422 malformed_image": { type: FileRejected, retry: "no" },
  "422 malformed_video": { type: FileRejected, retry: "no" },
  "422 too_many_pages": { type: FileRejected, retry: "no" },
  "422 video_too_long": { type: FileRejected, retry: "no" },
  "422 encrypted_document": { type: FileRejected, retry: "no" },
  "422 malware_detected": { type: FileRejected, retry: "no" },
  "422 scan_timeout": { type: FileRejected, retry: "no" },
  "422 scan_limit_exceeded": { type: FileRejected, retry: "no" },
  "422 upload_missing": { type: FileRejected, retry: "no" },
  "422 upload_aborted": { type: FileRejected, retry: "no" },
  "422 upload_abandoned": { type: FileRejected, retry: "no" },
  "429": { type: Backstop, retry: "slow_backoff" },
  "429 rate_limit_exceeded": { type: RateLimited, retry: "retry_after" },
  "429 quota_exceeded": { type: TokenQuotaExceeded, retry: "no" },
  "429 insufficient_credits": { type: InsufficientCredits, retry: "no" },
  "429 key_spending_cap_exceeded": { type: SpendingCapExceeded, retry: "no" },
  "500": { type: ServerError, retry: "backoff" },
  "500 internal_error": { type: ServerError, retry: "backoff" },
  "503": { type: Unavailable, retry: "retry_after" },
  "503 service_unavailable": { type: Unavailable, retry: "retry_after" },
  "503 storage_unavailable": { type: Unavailable, retry: "retry_after" },
  "503 scanner_unavailable": { type: Unavailable, retry: "retry_after" },
};
