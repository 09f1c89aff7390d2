/** The rows of a map: what came back, and how far it is. */

import { completionText } from "../answer.js";
import { type ApiError, type CargoError, outcomeError } from "../errors.js";
import type { GroupResult } from "../types.js";

/** A row with its answer, or with the error in place of one. */
export class MappedRow<Row> {
  constructor(
    readonly row: Row,
    /** The place of the row, from 0. */
    readonly number: number,
    /** Null if the row was not loaded. */
    readonly result: GroupResult | null,
    readonly error: CargoError | ApiError | null,
  ) {}

  /** The text of the answer; empty if there is none. */
  get text(): string {
    return completionText(this.result?.response ?? null);
  }
}

export function toMappedRow<Row>(row: Row, number: number, result: GroupResult): MappedRow<Row> {
  const error = result.success ? null : outcomeError(result.cargo_id, result.error, result.error_code);
  return new MappedRow(row, number, result, error);
}

/** How far a map is, in rows. `total` is null until all rows were read. */
export interface MapProgress {
  loaded: number;
  done: number;
  failed: number;
  total: number | null;
}
