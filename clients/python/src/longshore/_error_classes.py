# Generated from clients/errors.toml by `python -m generate`. Do not edit.
"""A class for each kind of error that the API answers."""

from longshore._error_base import ApiError


class BadRequest(ApiError):
    """What to do, by `code`:

    - others: The body is no JSON, or it ended early. Send the whole body as UTF-8 JSON.
    - `invalid_request`: The body ended early. Send the whole body.
    """


class InvalidModel(ApiError):
    """Use one of supported_models. Ids are case-sensitive."""


class Unauthenticated(ApiError):
    """Send a valid key of the project in X-API-Key. The message says what is wrong with this one."""


class ProjectInactive(ApiError):
    """Activate the project on the dashboard, or use a key of another one."""


class KeyNotAllowed(ApiError):
    """What to do, by `code`:

    - `key_address_not_allowed`: Use the key from one of its addresses, or use another key.
    - `key_right_missing`: Use a key with the right that the field right names.
    - `key_model_not_allowed`: Use one of allowed_models, or another key.
    """


class FilesNotAllowed(ApiError):
    """Upgrade the plan to store files."""


class StorageQuotaExceeded(ApiError):
    """Delete files, or upgrade the plan."""


class NotFound(ApiError):
    """What to do, by `code`:

    - others: Check the id or the path. What belongs to another project is not found either.
    - `file_not_found`: Check the id of the file. Files of other projects are not found either.
    - `group_not_found`: Check the id of the group. Groups of other projects are not found either.
    """


class MethodNotAllowed(ApiError):
    """The path does not have this method. See /docs."""


class RequestTimeout(ApiError):
    """The body arrived too slowly. Send the request again."""


class IdempotencyKeyReused(ApiError):
    """The key was used with another body. Use a new key for a new request."""


class NothingToSend(ApiError):
    """Wait until the cargo is completed. Without a callback_url, read the answer from tracking."""


class GroupSealed(ApiError):
    """The group takes no more cargo. Use another group."""


class GroupFull(ApiError):
    """The group has the maximum of cargo. Use another group."""


class TooManyGroups(ApiError):
    """Seal or cancel groups: too many are not completed."""


class TooManyListeners(ApiError):
    """Stop a listener of the project, or listen under the name of one to replace it."""


class GroupTotalMismatch(ApiError):
    """Load what is missing, or seal the group with the total that it has."""


class CustomIdReused(ApiError):
    """The group has another load under this custom_id. Use another custom_id."""


class PositionTaken(ApiError):
    """The group has another cargo at this position. Use another position, or none."""


class InvalidState(ApiError):
    """The status of the file does not allow this. Read the file first."""


class FileInUse(ApiError):
    """Wait until the cargo is completed, or delete with force=true."""


class TooManyUploads(ApiError):
    """Complete or delete an open upload first."""


class TooLarge(ApiError):
    """What to do, by `code`:

    - others: The body is too large. Make it smaller, or send files by POST /files.
    - `request_too_large`: The body is too large. Make it smaller.
    - `too_many_items`: Send fewer items in one request.
    - `file_too_large`: The file exceeds the limit of its kind. Make it smaller, or split it.
    """


class UnsupportedMediaType(ApiError):
    """What to do, by `code`:

    - others: Send the body uncompressed, without Content-Encoding.
    - `unsupported_content_encoding`: Send the body uncompressed, without Content-Encoding.
    - `unsupported_media_type`: Declare one of the supported media types.
    """


class Invalid(ApiError):
    """What to do, by `code`:

    - others: Correct the fields that detail lists, with their locations.
    - `invalid_request`: Correct the fields that the message names.
    """


class FileNotUsable(ApiError):
    """What to do, by `code`:

    - `model_capability_missing`: Use a model with this capability: GET /models lists them.
    - `file_not_found`: The load references a file that the project does not have.
    - `file_not_ready`: Complete the file, and wait until its status is ready.
    - `file_kind_mismatch`: Reference the file in a block of its kind.
    """


class FileRejected(ApiError):
    """What to do, by `code`:

    - `size_mismatch`: The bytes do not have the declared size. Create a new file.
    - `checksum_mismatch`: The bytes do not have the declared SHA-256. Create a new file.
    - `magic_byte_mismatch`: The bytes are not of the declared media type. Create a new file.
    - `malformed_document`: The document is damaged. Repair it and create a new file.
    - `malformed_image`: The image is damaged. Repair it and create a new file.
    - `malformed_video`: The video is damaged. Repair it and create a new file.
    - `too_many_pages`: The PDF has more than 100 pages. Split it.
    - `video_too_long`: The video is longer than 30 minutes. Split it.
    - `encrypted_document`: Save the document without a password and create a new file.
    - `malware_detected`: The scanner found malware. Do not upload the file again.
    - `scan_timeout`: The scan did not end in time. Create a new file to try again.
    - `scan_limit_exceeded`: The scanner cannot scan the whole file. Make it smaller.
    - `upload_missing`: Upload all bytes before you complete the file.
    - `upload_aborted`: The upload was aborted. Create a new file.
    - `upload_abandoned`: The upload was never completed. Create a new file.
    """


class Backstop(ApiError):
    """Too many requests of the project. Wait for Retry-After; without it, back off exponentially."""


class RateLimited(ApiError):
    """Wait for Retry-After."""


class TokenQuotaExceeded(ApiError):
    """The tokens of the month are used up. Upgrade the plan, or wait for resets_at."""


class InsufficientCredits(ApiError):
    """Add credit, or lower max_tokens."""


class SpendingCapExceeded(ApiError):
    """The cap of the key is reached. Use another key, or wait for resets_at."""


class ServerError(ApiError):
    """Our failure. Report it with the X-Request-Id."""


class Unavailable(ApiError):
    """What to do, by `code`:

    - others: Wait for Retry-After, then send the same request again.
    - `service_unavailable`: Wait for Retry-After, then send the same request again.
    - `storage_unavailable`: The object store is unavailable. Wait for Retry-After.
    - `scanner_unavailable`: The malware scanner is unavailable. Wait for Retry-After.
    """


CLASSES: dict[tuple[int, str | None], type[ApiError]] = {
    (400, None): BadRequest,
    (400, "invalid_model"): InvalidModel,
    (400, "invalid_request"): BadRequest,
    (401, None): Unauthenticated,
    (403, None): ProjectInactive,
    (403, "key_address_not_allowed"): KeyNotAllowed,
    (403, "key_right_missing"): KeyNotAllowed,
    (403, "key_model_not_allowed"): KeyNotAllowed,
    (403, "files_not_allowed_for_plan"): FilesNotAllowed,
    (403, "quota_exceeded"): StorageQuotaExceeded,
    (404, None): NotFound,
    (404, "file_not_found"): NotFound,
    (404, "group_not_found"): NotFound,
    (405, None): MethodNotAllowed,
    (408, None): RequestTimeout,
    (408, "request_timeout"): RequestTimeout,
    (409, "idempotency_key_reused"): IdempotencyKeyReused,
    (409, "nothing_to_send"): NothingToSend,
    (409, "group_sealed"): GroupSealed,
    (409, "group_full"): GroupFull,
    (409, "too_many_groups"): TooManyGroups,
    (409, "too_many_listeners"): TooManyListeners,
    (409, "group_total_mismatch"): GroupTotalMismatch,
    (409, "custom_id_reused"): CustomIdReused,
    (409, "position_taken"): PositionTaken,
    (409, "invalid_state"): InvalidState,
    (409, "file_in_use"): FileInUse,
    (409, "too_many_upload_sessions"): TooManyUploads,
    (413, None): TooLarge,
    (413, "request_too_large"): TooLarge,
    (413, "too_many_items"): TooLarge,
    (413, "file_too_large"): TooLarge,
    (415, None): UnsupportedMediaType,
    (415, "unsupported_content_encoding"): UnsupportedMediaType,
    (415, "unsupported_media_type"): UnsupportedMediaType,
    (422, None): Invalid,
    (422, "invalid_request"): Invalid,
    (422, "model_capability_missing"): FileNotUsable,
    (422, "file_not_found"): FileNotUsable,
    (422, "file_not_ready"): FileNotUsable,
    (422, "file_kind_mismatch"): FileNotUsable,
    (422, "size_mismatch"): FileRejected,
    (422, "checksum_mismatch"): FileRejected,
    (422, "magic_byte_mismatch"): FileRejected,
    (422, "malformed_document"): FileRejected,
    (422, "malformed_image"): FileRejected,
    (422, "malformed_video"): FileRejected,
    (422, "too_many_pages"): FileRejected,
    (422, "video_too_long"): FileRejected,
    (422, "encrypted_document"): FileRejected,
    (422, "malware_detected"): FileRejected,
    (422, "scan_timeout"): FileRejected,
    (422, "scan_limit_exceeded"): FileRejected,
    (422, "upload_missing"): FileRejected,
    (422, "upload_aborted"): FileRejected,
    (422, "upload_abandoned"): FileRejected,
    (429, None): Backstop,
    (429, "rate_limit_exceeded"): RateLimited,
    (429, "quota_exceeded"): TokenQuotaExceeded,
    (429, "insufficient_credits"): InsufficientCredits,
    (429, "key_spending_cap_exceeded"): SpendingCapExceeded,
    (500, None): ServerError,
    (500, "internal_error"): ServerError,
    (503, None): Unavailable,
    (503, "service_unavailable"): Unavailable,
    (503, "storage_unavailable"): Unavailable,
    (503, "scanner_unavailable"): Unavailable,
}

RETRY_RULES: dict[tuple[int, str | None], str] = {
    (400, None): "no",
    (400, "invalid_model"): "no",
    (400, "invalid_request"): "no",
    (401, None): "no",
    (403, None): "no",
    (403, "key_address_not_allowed"): "no",
    (403, "key_right_missing"): "no",
    (403, "key_model_not_allowed"): "no",
    (403, "files_not_allowed_for_plan"): "no",
    (403, "quota_exceeded"): "no",
    (404, None): "no",
    (404, "file_not_found"): "no",
    (404, "group_not_found"): "no",
    (405, None): "no",
    (408, None): "backoff",
    (408, "request_timeout"): "backoff",
    (409, "idempotency_key_reused"): "no",
    (409, "nothing_to_send"): "no",
    (409, "group_sealed"): "no",
    (409, "group_full"): "no",
    (409, "too_many_groups"): "no",
    (409, "too_many_listeners"): "no",
    (409, "group_total_mismatch"): "no",
    (409, "custom_id_reused"): "no",
    (409, "position_taken"): "no",
    (409, "invalid_state"): "no",
    (409, "file_in_use"): "no",
    (409, "too_many_upload_sessions"): "no",
    (413, None): "no",
    (413, "request_too_large"): "no",
    (413, "too_many_items"): "no",
    (413, "file_too_large"): "no",
    (415, None): "no",
    (415, "unsupported_content_encoding"): "no",
    (415, "unsupported_media_type"): "no",
    (422, None): "no",
    (422, "invalid_request"): "no",
    (422, "model_capability_missing"): "no",
    (422, "file_not_found"): "no",
    (422, "file_not_ready"): "no",
    (422, "file_kind_mismatch"): "no",
    (422, "size_mismatch"): "no",
    (422, "checksum_mismatch"): "no",
    (422, "magic_byte_mismatch"): "no",
    (422, "malformed_document"): "no",
    (422, "malformed_image"): "no",
    (422, "malformed_video"): "no",
    (422, "too_many_pages"): "no",
    (422, "video_too_long"): "no",
    (422, "encrypted_document"): "no",
    (422, "malware_detected"): "no",
    (422, "scan_timeout"): "no",
    (422, "scan_limit_exceeded"): "no",
    (422, "upload_missing"): "no",
    (422, "upload_aborted"): "no",
    (422, "upload_abandoned"): "no",
    (429, None): "slow_backoff",
    (429, "rate_limit_exceeded"): "retry_after",
    (429, "quota_exceeded"): "no",
    (429, "insufficient_credits"): "no",
    (429, "key_spending_cap_exceeded"): "no",
    (500, None): "backoff",
    (500, "internal_error"): "backoff",
    (503, None): "retry_after",
    (503, "service_unavailable"): "retry_after",
    (503, "storage_unavailable"): "retry_after",
    (503, "scanner_unavailable"): "retry_after",
}
