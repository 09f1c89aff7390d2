/** The client. */

import { resolveOptions, type CallOptions, type ClientOptions } from "./options.js";
import { Cargo } from "./resources/cargo.js";
import { Files } from "./resources/files.js";
import { Groups } from "./resources/groups.js";
import { Models } from "./resources/models.js";
import { Transport } from "./transport.js";
import type { WhoAmI } from "./types.js";

export class Longshore {
  readonly cargo: Cargo;
  readonly groups: Groups;
  readonly files: Files;
  readonly models: Models;
  // Private names do not appear in logs, and the options contain the key.
  readonly #options: ClientOptions;
  readonly #transport: Transport;

  constructor(options: ClientOptions = {}) {
    this.#options = options;
    this.#transport = new Transport(resolveOptions(options));
    this.groups = new Groups(this.#transport);
    this.cargo = new Cargo(this.#transport, this.groups);
    this.files = new Files(this.#transport);
    this.models = new Models(this.#transport);
  }

  /** A client with some options changed. */
  withOptions(options: ClientOptions): Longshore {
    return new Longshore({ ...this.#options, ...options });
  }

  /** The key of the client, its project and organization, their limits and credit. */
  whoami(options: CallOptions = {}): Promise<WhoAmI> {
    return this.#transport.json({ ...options, method: "GET", path: "/whoami" });
  }
}
