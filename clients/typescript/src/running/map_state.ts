/** The rows of a map that were read and not yet yielded. */

import { apiError, LongshoreError, type ApiError } from "../errors.js";
import type { GroupResult } from "../types.js";
import type { HeldResults } from "./held_results.js";
import { MappedRow, toMappedRow, type MapProgress } from "./mapped_row.js";

const MAX_ROWS_IN_HAND = 8000;
const MAX_READY_ROWS = 1000;

export class MapState<Row> {
  readonly progress: MapProgress = { loaded: 0, done: 0, failed: 0, total: null };
  /** In the order of the input. */
  readonly #rows = new Map<string, { row: Row; number: number }>();
  readonly #refused = new Map<string, ApiError>();
  /** In the order of completion. Empty with the order of the input. */
  readonly #ready: string[] = [];
  #read = 0;

  constructor(
    private readonly held: HeldResults,
    private readonly order: "input" | "completion",
  ) {}

  /** How many rows were read. */
  get read(): number {
    return this.#read;
  }

  /** Whether no more rows should be read. */
  get isFull(): boolean {
    return this.#rows.size >= MAX_ROWS_IN_HAND;
  }

  /** Whether no more results should be read. In the order of the input, the missing one may be the next. */
  get hasEnough(): boolean {
    return this.#ready.length >= MAX_READY_ROWS;
  }

  get isEmpty(): boolean {
    return this.#rows.size === 0;
  }

  get hasNext(): boolean {
    return this.#next() !== undefined;
  }

  /** Whether the row must be loaded: a resumed map may have its result already. */
  addRow(customId: string, row: Row): boolean {
    const other = this.#rows.get(customId);
    if (other) throw new LongshoreError(`rows ${other.number} and ${this.#read} have the same key: ${customId}`);
    this.#rows.set(customId, { row, number: this.#read });
    this.#read += 1;
    const isDone = this.held.has(customId);
    if (isDone) {
      this.progress.loaded += 1;
      this.#markReady(customId);
    }
    return !isDone;
  }

  addResult(result: GroupResult): void {
    this.held.add(result);
    if (this.#rows.has(result.custom_id)) this.#markReady(result.custom_id);
  }

  addRefusal(customId: string, error: ApiError): void {
    this.#refused.set(customId, error);
    this.#markReady(customId);
  }

  async take(): Promise<MappedRow<Row> | undefined> {
    const customId = this.#next();
    const found = customId === undefined ? undefined : this.#rows.get(customId);
    if (customId === undefined || !found) return undefined;
    this.#rows.delete(customId);
    this.#ready.shift();
    const mapped = await this.#mapped(customId, found.row, found.number);
    this.progress.done += 1;
    if (mapped.error) this.progress.failed += 1;
    return mapped;
  }

  async #mapped(customId: string, row: Row, number: number): Promise<MappedRow<Row>> {
    const refusal = this.#refused.get(customId);
    this.#refused.delete(customId);
    if (refusal) return new MappedRow<Row>(row, number, null, refusal);
    const result = await this.held.take(customId);
    if (result) return toMappedRow(row, number, result);
    return new MappedRow<Row>(row, number, null, apiError(404, "the result is no longer kept"));
  }

  #markReady(customId: string): void {
    if (this.order === "completion") this.#ready.push(customId);
  }

  #next(): string | undefined {
    if (this.order === "completion") return this.#ready[0];
    const [first] = this.#rows.keys();
    return first !== undefined && (this.#refused.has(first) || this.held.has(first)) ? first : undefined;
  }
}
