/** `client.models`. */

import type { CallOptions } from "../options.js";
import type { Transport } from "../transport.js";
import type { Model, ModelList } from "../types.js";

export class Models {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** The models that the key may load, sorted by id. */
  async list(options: CallOptions = {}): Promise<Model[]> {
    const { models } = await this.#transport.json<ModelList>({ ...options, method: "GET", path: "/models" });
    return models;
  }
}
