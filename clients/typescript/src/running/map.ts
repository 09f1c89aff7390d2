/** `map`: a request for each row of an iterable, loaded in bulks as a group. */

import { LongshoreError } from "../errors.js";
import type { Groups } from "../resources/groups.js";
import type { Transport } from "../transport.js";
import type { Params } from "../types.js";
import { HeldResults, MAX_HELD_BYTES, ResultRereader } from "./held_results.js";
import { BulkLoader } from "./loader.js";
import { MapState } from "./map_state.js";
import type { MappedRow, MapProgress } from "./mapped_row.js";
import { ChangeSignal } from "./signal.js";

const RESULT_WAIT_SECONDS = 50;
const RETRY_DELAY_MS = 1000;

export type Rows<Row> = Iterable<Row> | AsyncIterable<Row>;

export interface MapOptions<Row> {
  /** Resumes the map of this name, or begins it. Without a name, a random one is printed. */
  name?: string;
  /** A name for the row, unique in the map. By default its number. With it, rows may change their order. */
  key?: (row: Row) => string;
  /** By default `input`. */
  order?: "input" | "completion";
  /** By default `yield`. */
  onError?: "yield" | "raise";
  /** In the currency of the prices. `CostLimitExceeded` is thrown before a load that would exceed it. */
  maxCost?: number;
  onProgress?: (progress: MapProgress) => void;
  signal?: AbortSignal;
  /** How much memory results may take that came before their turn. Others are downloaded again. */
  maxHeldBytes?: number;
}

interface MapDeps {
  transport: Transport;
  groups: Groups;
}

/** One call of `map`. It begins when you iterate over it. */
export class MapRun<Row> implements AsyncIterable<MappedRow<Row>> {
  /** Pass it as `name` to resume. */
  readonly name: string;
  readonly #deps: MapDeps;
  readonly #rows: Rows<Row>;
  readonly #request: (row: Row) => Params;
  readonly #options: MapOptions<Row>;
  readonly #change = new ChangeSignal();
  #failure: { error: unknown } | undefined;
  #hasBegun = false;
  #isLoaded = false;
  #isGroupCompleted = false;

  constructor(deps: MapDeps, rows: Rows<Row>, request: (row: Row) => Params, options: MapOptions<Row>) {
    this.#deps = deps;
    this.#rows = rows;
    this.#request = request;
    this.#options = options;
    this.name = options.name ?? `map-${crypto.randomUUID()}`;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<MappedRow<Row>, void, undefined> {
    const { name, order = "input", onError, onProgress, maxHeldBytes = MAX_HELD_BYTES } = this.#options;
    if (this.#hasBegun) throw new LongshoreError("a map can be iterated over once: call map again");
    this.#hasBegun = true;
    if (name === undefined) console.error(`longshore: to resume this map, pass name: "${this.name}"`);
    const stop = new AbortController();
    const signal = this.#options.signal ? AbortSignal.any([this.#options.signal, stop.signal]) : stop.signal;
    const { group_id } = await this.#deps.groups.create(this.name, { signal, retryFor: Infinity });
    const rereader = new ResultRereader(this.#deps.groups, group_id, signal);
    const state = new MapState<Row>(new HeldResults(rereader, maxHeldBytes), order);
    for (const task of [this.#load(state, group_id, signal), this.#read(state, group_id, signal)]) {
      task.catch((error: unknown) => this.#fail(error));
    }
    signal.addEventListener("abort", () => this.#fail(signal.reason), { once: true });
    try {
      for (;;) {
        await this.#change.until(() => this.#isAtEnd(state) || state.hasNext);
        if (this.#failure) throw this.#failure.error;
        const mapped = await state.take();
        if (!mapped && state.isEmpty) return;
        if (!mapped) throw new LongshoreError(`group ${group_id} is completed without all rows: are the keys unique?`);
        this.#change.notify();
        onProgress?.({ ...state.progress });
        if (mapped.error && onError === "raise") throw mapped.error;
        yield mapped;
      }
    } finally {
      stop.abort(new LongshoreError("the map has ended"));
      await rereader.close().catch(() => undefined);
    }
  }

  #isAtEnd(state: MapState<Row>): boolean {
    return this.#failure !== undefined || this.#isGroupCompleted || (this.#isLoaded && state.isEmpty);
  }

  #fail(error: unknown): void {
    this.#failure ??= { error };
    this.#change.notify();
  }

  /** Reads the rows, loads them, and seals the group. */
  async #load(state: MapState<Row>, groupId: string, signal: AbortSignal): Promise<void> {
    const { key, maxCost } = this.#options;
    const onLoaded = (count: number) => void (state.progress.loaded += count);
    const onRefused: MapState<Row>["addRefusal"] = (customId, error) => {
      state.addRefusal(customId, error);
      this.#change.notify();
    };
    const events = { onLoaded, onRefused, onFailed: (error: unknown) => this.#fail(error) };
    const loader = new BulkLoader(this.#deps.transport, events, signal, maxCost);
    for await (const row of this.#rows) {
      const position = state.read;
      const custom_id = key ? key(row) : String(position);
      // With keys, rows may come in another order when the map is resumed.
      const place = key ? {} : { position };
      const mustLoad = state.addRow(custom_id, row);
      this.#change.notify();
      if (mustLoad) await loader.add({ params: this.#request(row), group_id: groupId, custom_id, ...place });
      await this.#change.until(() => !state.isFull || this.#failure !== undefined);
      if (this.#failure) return;
    }
    await loader.end();
    if (this.#failure) return;
    state.progress.total = state.read;
    await this.#deps.groups.seal(groupId, { signal, retryFor: Infinity });
    this.#isLoaded = true;
    this.#change.notify();
  }

  /** Reads results in the order of completion until the group is completed. */
  async #read(state: MapState<Row>, groupId: string, signal: AbortSignal): Promise<void> {
    const { groups, transport } = this.#deps;
    const call = { signal, retryFor: Infinity };
    let after = 0;
    for (;;) {
      const before = after;
      const query = { order: "completion", after, wait: RESULT_WAIT_SECONDS } as const;
      for await (const result of groups.results(groupId, query, call)) {
        after = result.number;
        state.addResult(result);
        this.#change.notify();
        await this.#change.until(() => !state.hasEnough || this.#failure !== undefined);
        if (this.#failure) return;
      }
      if (this.#isLoaded && (await this.#isRead(groupId, after, call))) break;
      // A server with too many waiting requests answers at once.
      if (after === before) await transport.options.timing.sleep(RETRY_DELAY_MS, signal);
    }
    this.#isGroupCompleted = true;
    this.#change.notify();
  }

  async #isRead(groupId: string, after: number, call: { signal: AbortSignal; retryFor: number }): Promise<boolean> {
    const { status, counts } = await this.#deps.groups.get(groupId, call);
    return (status === "completed" || status === "cancelled") && after >= counts.total;
  }
}
