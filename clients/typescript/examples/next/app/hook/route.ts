// A receiver of callbacks with Next.js: app/hook/route.ts. Hono, Deno, Bun and workers call it the same way.

import { callbackRoute, MemorySeen } from "longshore/callbacks";

const secrets = (process.env["LONGSHORE_SIGNING_SECRETS"] ?? "").split(" ");

// With several processes, implement `Seen` with your database.
export const POST = callbackRoute({ secrets, seen: new MemorySeen() }, async (callback) => {
  // Store it, and work on it later: the answer must come within 30 seconds.
  console.log(callback.cargo_id, callback.success);
});
