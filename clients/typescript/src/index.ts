/** The client of Longshore. */

export { Answer, completionText } from "./answer.js";
export { Longshore } from "./client.js";
export * from "./error_base.js";
export * from "./error_classes.js";
export { likelyCost } from "./estimate.js";
export { assistant, document, image, text, user, video } from "./messages.js";
export type { CallOptions, ClientOptions, LoadOptions, RequestAttempt } from "./options.js";
export type { RunOptions, TrackOptions } from "./resources/cargo.js";
export type { MapOptions, MapRun, Rows } from "./running/map.js";
export type { MappedRow, MapProgress } from "./running/mapped_row.js";
export type { PageOptions } from "./pages.js";
export type { WaitOptions } from "./running/waiter.js";
export type { Timing } from "./timing.js";
export type * from "./types.js";
export type { RememberedUpload, UploadMemory } from "./uploads/memory.js";
export type { NamedSource, UploadSource } from "./uploads/source.js";
export type { UploadOptions, UploadProgress } from "./uploads/upload.js";
export { VERSION } from "./version.js";
