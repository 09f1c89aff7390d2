/** The answer of a cargo, with its text at hand. */

import { outcomeError } from "./errors.js";
import type { Completion, Tracking, Usage } from "./types.js";

/** A completed cargo with an answer. */
export class Answer {
  constructor(readonly tracking: Tracking) {}

  get cargo_id(): string {
    return this.tracking.cargo_id;
  }

  /** The text blocks, joined. Empty for an embedding. */
  get text(): string {
    return completionText(this.tracking.response);
  }

  get embeddings(): number[][] {
    const { response } = this.tracking;
    return response && "embeddings" in response ? response.embeddings : [];
  }

  get response(): Completion | null {
    return this.tracking.response;
  }

  get usage(): Usage | null {
    return this.tracking.usage;
  }

  /** What it cost, in the currency of `tracking.cost`. */
  get charged(): number | null {
    const { charged, scale } = this.tracking.cost;
    return charged === null ? null : charged / 10 ** scale;
  }
}

/** Throws the error of a cargo that failed. */
export function toAnswer(tracking: Tracking): Answer {
  if (!tracking.success) throw outcomeError(tracking.cargo_id, tracking.error, tracking.error_code);
  return new Answer(tracking);
}

/** The text blocks of an answer, joined. */
export function completionText(response: Completion | null): string {
  if (!response || !("content" in response)) return "";
  return response.content.map((block) => (block.type === "text" ? block.text : "")).join("");
}
