/** `longshore/callbacks`: verifies and signs callbacks. It sends no requests. */

export { InvalidSignature } from "./error_base.js";
export { callbackRoute, MemorySeen, type RouteOptions, type Seen } from "./receiver.js";
export type { Callback } from "./types.js";
export { sign, verify, type CallbackHeaders, type SignOptions, type VerifyOptions } from "./verification.js";
