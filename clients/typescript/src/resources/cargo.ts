/** `client.cargo`. */

import { toAnswer, type Answer } from "../answer.js";
import type { CallOptions, LoadOptions } from "../options.js";
import { readPages, type PageOptions } from "../pages.js";
import { MapRun, type MapOptions, type Rows } from "../running/map.js";
import { CargoWaiter, type WaitOptions } from "../running/waiter.js";
import type { Transport } from "../transport.js";
import type * as types from "../types.js";
import type { Groups } from "./groups.js";

export interface RunOptions extends Omit<LoadOptions, "timeout"> {
  metadata?: Record<string, unknown>;
  deadline_seconds?: number;
  /** Seconds until `StillUnderWay` is thrown. The cargo stays. */
  timeout?: number;
  /** Cancels the cargo when the call ends without an answer. */
  cancelOnExit?: boolean;
}

export class Cargo {
  readonly #transport: Transport;
  readonly #groups: Groups;
  readonly #waiter: CargoWaiter;

  constructor(transport: Transport, groups: Groups) {
    this.#transport = transport;
    this.#groups = groups;
    this.#waiter = new CargoWaiter(transport);
  }

  /** Loads one request. Without an idempotency key the call makes one, for its own retries. */
  load(params: types.Params, options: types.LoadFields & LoadOptions = {}): Promise<types.Loaded> {
    const { signal, timeout, retryFor, idempotencyKey = crypto.randomUUID(), ...fields } = options;
    const call = { signal, ...(timeout !== undefined && { timeout }), ...(retryFor !== undefined && { retryFor }) };
    return this.#transport.json({ ...call, method: "POST", path: "/cargo/load", body: { ...fields, params }, idempotencyKey });
  }

  /** Loads up to 1,000 requests. Each has its own result, so read `results` also when it returns. */
  bulk(loads: types.BulkLoadItem[], options: LoadOptions = {}): Promise<types.BulkLoad> {
    const { idempotencyKey = crypto.randomUUID(), ...call } = options;
    return this.#transport.json({ ...call, method: "POST", path: "/cargo/bulk", body: { cargo: loads }, idempotencyKey });
  }

  /** What loads would cost and how long they would take. Nothing is stored. */
  estimate(loads: types.LoadRequest | types.LoadRequest[], options: CallOptions = {}): Promise<types.Estimate> {
    const body = Array.isArray(loads) ? { cargo: loads } : loads;
    return this.#transport.json({ ...options, method: "POST", path: "/cargo/estimate", body, idempotent: true });
  }

  /** The record of a cargo. With `wait`, after so many seconds at most, or once it is completed. */
  track(cargoId: string, options: CallOptions & TrackOptions = {}): Promise<types.Tracking> {
    const { wait, until, ...call } = options;
    const query = wait ? { wait, until } : {};
    return this.#transport.json({ ...call, method: "GET", path: path(cargoId, "tracking"), query, waitSeconds: wait });
  }

  /** Waits until one of up to 1,000 cargo is completed. Call it again with `pending`. */
  wait(cargoIds: string[], options: CallOptions & { wait?: number } = {}): Promise<types.CargoWaitResult> {
    const { wait = 50, ...call } = options;
    const body = { cargo_ids: cargoIds, wait };
    return this.#transport.json({ ...call, method: "POST", path: "/cargo/wait", body, idempotent: true, waitSeconds: wait });
  }

  /** The cargo of the project, newest first. It reads the next page when you reach the end of one. */
  list(query: types.CargoQuery = {}, options: PageOptions = {}): AsyncGenerator<types.CargoSummary, void, undefined> {
    const { pageSize, signal } = options;
    const moments = { created_after: toMoment(query.created_after), created_before: toMoment(query.created_before) };
    const read = (cursor?: string) => {
      const page = { ...query, ...moments, limit: pageSize, cursor };
      return this.#transport.json<types.CargoList>({ method: "GET", path: "/cargo", query: page, signal });
    };
    return readPages(read, (page) => page.cargo);
  }

  /** Cancels a cargo that no provider has. `cancel` in the answer says what happened. */
  cancel(cargoId: string, options: CallOptions = {}): Promise<types.CancelAnswer> {
    return this.#transport.json({ ...options, method: "POST", path: path(cargoId, "cancel"), body: {}, idempotent: true });
  }

  /** The attempts to deliver the callback. */
  attempts(cargoId: string, options: CallOptions = {}): Promise<types.CallbackAttempts> {
    return this.#transport.json({ ...options, method: "GET", path: path(cargoId, "attempts") });
  }

  /** Sends the callback of a completed cargo once more. */
  resend(cargoId: string, options: CallOptions = {}): Promise<types.Resend> {
    return this.#transport.json({ ...options, method: "POST", path: path(cargoId, "resend"), body: {} });
  }

  /** Loads a request and waits for its answer. All calls of a client share one connection for that. */
  async run(params: types.Params, options: RunOptions = {}): Promise<Answer> {
    const { timeout, cancelOnExit, ...load } = options;
    const { cargo_id } = await this.load(params, load);
    try {
      return toAnswer(await this.#waiter.wait(cargo_id, { timeout, signal: options.signal }));
    } catch (error) {
      // A completed cargo stays as it is. The caller wants to know the first error.
      if (cancelOnExit) await this.cancel(cargo_id).catch(() => undefined);
      throw error;
    }
  }

  /** Waits for the answer of a cargo that was loaded before, perhaps by another process. */
  async result(cargoId: string, options: WaitOptions = {}): Promise<Answer> {
    return toAnswer(await this.#waiter.wait(cargoId, options));
  }

  /**
   * Runs a request for each row, and yields the rows with their answers.
   *
   * The rows are a group with this name. After a crash, call it again with the same name and rows: what is
   * loaded is neither loaded nor paid again.
   */
  map<Row>(rows: Rows<Row>, request: (row: Row) => types.Params, options: MapOptions<Row> = {}): MapRun<Row> {
    return new MapRun({ transport: this.#transport, groups: this.#groups }, rows, request, options);
  }
}

export interface TrackOptions {
  /** In seconds. */
  wait?: number;
  until?: "completed" | "delivered";
}

function path(cargoId: string, route: string): string {
  return `/cargo/${encodeURIComponent(cargoId)}/${route}`;
}

function toMoment(moment: Date | string | undefined): string | undefined {
  return moment instanceof Date ? moment.toISOString() : moment;
}
