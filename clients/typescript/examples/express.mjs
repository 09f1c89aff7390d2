// A receiver of callbacks with Express 5: node express.mjs

import express from "express";
import { InvalidSignature, verify } from "longshore/callbacks";

const secrets = (process.env.LONGSHORE_SIGNING_SECRETS ?? "").split(" ");
// Your database, with the cargo id as a unique key. A callback can arrive more than once.
const callbacks = new Map();
const app = express();

// The raw bytes: express.json() would lose them. The default limit of 100 KB is too small.
app.post("/hook", express.raw({ type: () => true, limit: "32mb" }), async (request, response) => {
  try {
    const callback = await verify(request.body, request.headers, secrets);
    // Store it, answer within 30 seconds, and work on it later.
    callbacks.set(callback.cargo_id, callback);
    response.sendStatus(204);
  } catch (error) {
    if (!(error instanceof InvalidSignature)) throw error;
    response.status(401).json({ message: error.reason });
  }
});

export const server = app.listen(process.env.PORT ?? 8000);
