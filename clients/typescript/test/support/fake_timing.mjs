// Time that moves only when the client sleeps.

export function fakeTiming() {
  const timing = {
    time: 1_763_240_000_000,
    sleeps: [],
    now: () => timing.time,
    random: () => 0.5,
    async sleep(milliseconds, signal) {
      signal?.throwIfAborted();
      timing.sleeps.push(milliseconds);
      timing.time += milliseconds;
      // Other tasks go on meanwhile.
      await new Promise((resolve) => setImmediate(resolve));
      signal?.throwIfAborted();
    },
  };
  return timing;
}
