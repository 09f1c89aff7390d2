/** Wakes all that wait for a change. */
export class ChangeSignal {
  #wake: () => void = () => undefined;
  #next = this.#renew();

  notify(): void {
    this.#wake();
    this.#next = this.#renew();
  }

  /** Returns when the condition holds. It is checked after each change. */
  async until(condition: () => boolean): Promise<void> {
    while (!condition()) await this.#next;
  }

  #renew(): Promise<void> {
    return new Promise((resolve) => (this.#wake = resolve));
  }
}
