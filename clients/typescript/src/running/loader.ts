/** Loads the rows of a map in bulks. */

import { apiError, CostLimitExceeded, type ApiError } from "../errors.js";
import { likelyCost } from "../estimate.js";
import { toJson } from "../json.js";
import { ruleOf } from "../retry.js";
import type { Transport } from "../transport.js";
import type { BulkLoad, BulkLoadItem, Estimate, RefusedItem } from "../types.js";

const MAX_BULK_ITEMS = 1000;
const MAX_BULK_BYTES = 8 << 20;
const MAX_PARALLEL_BULKS = 4;
const RETRY_DELAY_SECONDS = 1;

export interface RowLoad extends BulkLoadItem {
  custom_id: string;
}

export interface LoaderEvents {
  onLoaded(count: number): void;
  onRefused(customId: string, error: ApiError): void;
  onFailed(error: unknown): void;
}

export class BulkLoader {
  readonly #active = new Set<Promise<void>>();
  #bulk: RowLoad[] = [];
  #bytes = 0;
  #cost = 0;

  constructor(
    private readonly transport: Transport,
    private readonly events: LoaderEvents,
    private readonly signal: AbortSignal,
    private readonly maxCost?: number,
  ) {}

  /** Returns when there is room for the next load. */
  async add(load: RowLoad): Promise<void> {
    const size = new TextEncoder().encode(toJson(load)).length + 1;
    const isFull = this.#bulk.length === MAX_BULK_ITEMS || this.#bytes + size > MAX_BULK_BYTES;
    if (isFull && this.#bulk.length > 0) await this.#start();
    this.#bulk.push(load);
    this.#bytes += size;
  }

  /** Returns when all is loaded or refused. */
  async end(): Promise<void> {
    if (this.#bulk.length > 0) await this.#start();
    await Promise.all(this.#active);
  }

  async #start(): Promise<void> {
    while (this.#active.size >= MAX_PARALLEL_BULKS) await Promise.race(this.#active);
    const bulk = this.#bulk;
    this.#bulk = [];
    this.#bytes = 0;
    if (this.maxCost !== undefined) await this.#checkCost(bulk, this.maxCost);
    const task = this.#load(bulk)
      .catch((error: unknown) => this.events.onFailed(error))
      .finally(() => this.#active.delete(task));
    this.#active.add(task);
  }

  async #load(bulk: RowLoad[]): Promise<void> {
    while (bulk.length > 0) {
      const { accepted, results } = await this.#post<BulkLoad>("/cargo/bulk", bulk);
      this.events.onLoaded(accepted);
      const refused = results.filter((each): each is RefusedItem => "detail" in each);
      const again = refused.filter((each) => ruleOf(each.status, errorOf(each).code) !== "no");
      for (const each of refused) {
        const load = bulk[each.index];
        if (load && !again.includes(each)) this.events.onRefused(load.custom_id, errorOf(each));
      }
      bulk = again.flatMap((each) => bulk[each.index] ?? []);
      const seconds = Math.max(...again.map((each) => each.retry_after_seconds ?? RETRY_DELAY_SECONDS));
      if (bulk.length > 0) await this.transport.options.timing.sleep(1000 * seconds, this.signal);
    }
  }

  async #checkCost(bulk: RowLoad[], maxCost: number): Promise<void> {
    this.#cost += likelyCost(await this.#post<Estimate>("/cargo/estimate", bulk));
    if (this.#cost <= maxCost) return;
    throw new CostLimitExceeded(
      `the rows so far would cost ${this.#cost.toFixed(4)}, more than maxCost ${maxCost}: ` +
        "the last rows were not loaded; raise maxCost and call map with the same name",
    );
  }

  // The custom ids make a repeat safe.
  #post<T>(path: string, cargo: RowLoad[]): Promise<T> {
    const call = { method: "POST", path, body: { cargo }, idempotent: true };
    return this.transport.json<T>({ ...call, signal: this.signal, retryFor: Infinity });
  }
}

function errorOf(item: RefusedItem): ApiError {
  return apiError(item.status, item.detail, { retryAfter: item.retry_after_seconds });
}
