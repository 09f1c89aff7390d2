/** Results that came before their turn. */

import type { Groups } from "../resources/groups.js";
import type { GroupResult } from "../types.js";

export const MAX_HELD_BYTES = 64 << 20;
// A stream that must skip more lines than this is opened again.
const MAX_SKIPPED_POSITIONS = 1000;

interface Held {
  position: number;
  size: number;
  /** Undefined if there was no room: it is read again. */
  result: GroupResult | undefined;
}

/** Keeps up to 64 MB. Of the others it keeps the position, and reads them again. */
export class HeldResults {
  readonly #held = new Map<string, Held>();
  #bytes = 0;

  constructor(
    private readonly rereader: ResultRereader,
    private readonly maxBytes = MAX_HELD_BYTES,
  ) {}

  has(customId: string): boolean {
    return this.#held.has(customId);
  }

  add(result: GroupResult): void {
    const size = JSON.stringify(result).length;
    const fits = this.#bytes + size <= this.maxBytes;
    if (fits) this.#bytes += size;
    this.#held.set(result.custom_id, { position: result.position, size, result: fits ? result : undefined });
  }

  async take(customId: string): Promise<GroupResult | undefined> {
    const held = this.#held.get(customId);
    this.#held.delete(customId);
    if (held?.result) this.#bytes -= held.size;
    return held && (held.result ?? this.rereader.read(held.position));
  }
}

/** Reads results by their position. Ascending positions share one download. */
export class ResultRereader {
  #stream: AsyncGenerator<GroupResult, void, undefined> | undefined;
  #next = 0;

  constructor(
    private readonly groups: Groups,
    private readonly groupId: string,
    private readonly signal: AbortSignal,
  ) {}

  async read(position: number): Promise<GroupResult | undefined> {
    const isNear = position >= this.#next && position - this.#next <= MAX_SKIPPED_POSITIONS;
    return (isNear ? await this.#advance(position) : undefined) ?? (await this.#reopen(position));
  }

  async #reopen(position: number): Promise<GroupResult | undefined> {
    await this.close();
    const after = position > 0 ? { after: position - 1 } : {};
    this.#stream = this.groups.results(this.groupId, { order: "position", ...after }, { signal: this.signal });
    return this.#advance(position);
  }

  async #advance(position: number): Promise<GroupResult | undefined> {
    for (;;) {
      const next = await this.#stream?.next();
      if (!next || next.done) return undefined;
      this.#next = next.value.position + 1;
      if (next.value.position >= position) return next.value.position === position ? next.value : undefined;
    }
  }

  async close(): Promise<void> {
    await this.#stream?.return();
    this.#stream = undefined;
  }
}
