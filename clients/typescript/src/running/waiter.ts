/** One loop of `POST /cargo/wait` for all cargo that a client waits for. */

import { readRetryAfter } from "../attempt.js";
import { apiError, StillUnderWay } from "../errors.js";
import type { Transport } from "../transport.js";
import type { CargoWaitResult, Tracking } from "../types.js";

const MAX_CARGO_IDS = 1000;
const WAIT_SECONDS = 50;
// Cargo that is added during a request is in the next one, which begins after this time.
const MIN_REQUEST_MS = 500;

export interface WaitOptions {
  /** Seconds until `StillUnderWay` is thrown. */
  timeout?: number | undefined;
  signal?: AbortSignal | undefined;
}

interface Waiting {
  resolve(record: Tracking): void;
  reject(error: unknown): void;
}

export class CargoWaiter {
  readonly #loops: WaitLoop[] = [];
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** The record of a cargo, once it is completed. */
  async wait(cargoId: string, { timeout, signal }: WaitOptions = {}): Promise<Tracking> {
    signal?.throwIfAborted();
    const loop = this.#loopFor(cargoId);
    const stop = new AbortController();
    return new Promise<Tracking>((resolve, reject) => {
      const waiting: Waiting = { resolve, reject };
      loop.add(cargoId, waiting);
      const leave = (error: unknown) => {
        loop.remove(cargoId, waiting);
        reject(error as Error);
      };
      signal?.addEventListener("abort", () => leave(signal.reason), { once: true, signal: stop.signal });
      if (timeout !== undefined) {
        const timer = this.#transport.options.timing.sleep(1000 * timeout, stop.signal);
        const late = () => leave(new StillUnderWay(cargoId, `not completed after ${timeout} seconds`));
        timer.then(late, () => undefined);
      }
    }).finally(() => stop.abort());
  }

  // A request takes 1,000 ids, so more cargo than that needs another loop.
  #loopFor(cargoId: string): WaitLoop {
    const found = this.#loops.find((loop) => loop.takes(cargoId));
    if (found) return found;
    const loop = new WaitLoop(this.#transport);
    this.#loops.push(loop);
    return loop;
  }
}

class WaitLoop {
  readonly #waiting = new Map<string, Set<Waiting>>();
  #isRunning = false;
  #renew: (() => void) | undefined;

  constructor(private readonly transport: Transport) {}

  takes(cargoId: string): boolean {
    return this.#waiting.has(cargoId) || this.#waiting.size < MAX_CARGO_IDS;
  }

  add(cargoId: string, waiting: Waiting): void {
    const others = this.#waiting.get(cargoId);
    if (others) {
      others.add(waiting);
      return;
    }
    this.#waiting.set(cargoId, new Set([waiting]));
    this.#renew?.();
    if (!this.#isRunning) void this.#run();
  }

  remove(cargoId: string, waiting: Waiting): void {
    const others = this.#waiting.get(cargoId);
    others?.delete(waiting);
    if (others?.size === 0) this.#waiting.delete(cargoId);
    // Nothing keeps the process alive when the last caller has left.
    if (this.#waiting.size === 0) this.#renew?.();
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    try {
      // Calls that begin together share the first request.
      await Promise.resolve();
      while (this.#waiting.size > 0) await this.#request([...this.#waiting.keys()]);
    } catch (error) {
      this.#end([...this.#waiting.keys()], ({ reject }) => reject(error));
    } finally {
      this.#isRunning = false;
    }
  }

  async #request(ids: string[]): Promise<void> {
    const { timing } = this.transport.options;
    const renewal = new AbortController();
    const start = timing.now();
    let isRenewed = false;
    this.#renew = () => {
      if (isRenewed) return;
      isRenewed = true;
      const left = this.#waiting.size === 0 ? 0 : Math.max(0, MIN_REQUEST_MS - (timing.now() - start));
      timing.sleep(left).then(() => renewal.abort(), () => undefined);
    };
    try {
      const body = { cargo_ids: ids, wait: WAIT_SECONDS };
      const call = { method: "POST", path: "/cargo/wait", body, idempotent: true };
      const { data, headers } = await this.transport.answer<CargoWaitResult>({
        ...call,
        signal: renewal.signal,
        waitSeconds: WAIT_SECONDS,
      });
      this.#settle(data);
      const pause = readRetryAfter(headers);
      if (pause !== undefined && data.completed.length === 0) await timing.sleep(1000 * pause, renewal.signal);
    } catch (error) {
      if (!renewal.signal.aborted) throw error;
    } finally {
      this.#renew = undefined;
    }
  }

  #settle({ completed, unknown }: CargoWaitResult): void {
    for (const record of completed) this.#end([record.cargo_id], ({ resolve }) => resolve(record));
    this.#end(unknown, ({ reject }) => reject(apiError(404, "Cargo not found")));
  }

  #end(ids: string[], end: (waiting: Waiting) => void): void {
    for (const id of ids) {
      const all = this.#waiting.get(id) ?? [];
      this.#waiting.delete(id);
      for (const each of all) end(each);
    }
  }
}
