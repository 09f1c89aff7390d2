// A receiver of callbacks. It accepts signed ones only.

import { once } from "node:events";
import { createServer } from "node:http";
import { buffer } from "node:stream/consumers";
import { InvalidSignature, verify } from "longshore/callbacks";

const TIMEOUT_MS = 60_000;

export class Receiver {
  #received = new Map();
  #server = createServer((request, response) => void this.#receive(request, response));

  async start() {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    this.url = `http://127.0.0.1:${this.#server.address().port}/hook`;
  }

  stop() {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  async wait(cargoId) {
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    while (!this.#received.has(cargoId)) await once(this.#server, "callback", { signal });
    return this.#received.get(cargoId);
  }

  async #receive(request, response) {
    try {
      const secret = process.env.SCENARIO_SIGNING_SECRET;
      const callback = await verify(await buffer(request), request.headers, secret);
      this.#received.set(callback.cargo_id, callback);
      this.#server.emit("callback");
      response.writeHead(204).end();
    } catch (error) {
      response.writeHead(error instanceof InvalidSignature ? 401 : 500).end(error.message);
    }
  }
}
