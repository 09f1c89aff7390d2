/** The results of a group as a stream that continues where it broke off. */

import { connectionError } from "../attempt.js";
import type { NoAnswer } from "../error_base.js";
import { readLines } from "../ndjson.js";
import type { CallOptions } from "../options.js";
import type { Transport } from "../transport.js";
import type { GroupResult, ResultsQuery } from "../types.js";

// Consecutive ones, without a line in between.
const MAX_BROKEN_STREAMS = 8;

type Query = Omit<ResultsQuery, "after"> & { after: number | undefined };
type Results = AsyncGenerator<GroupResult, void, undefined>;

/** The results that exist; with `wait`, also those of the next seconds. */
export async function* readResults(
  transport: Transport,
  groupId: string,
  query: ResultsQuery,
  options: CallOptions,
): Results {
  const cursor = query.order === "completion" ? "number" : "position";
  let after = query.after;
  let broken = 0;
  for (;;) {
    try {
      for await (const line of download(transport, groupId, { ...query, after }, options)) {
        after = line[cursor];
        broken = 0;
        yield line;
      }
      return;
    } catch (error) {
      // The transport retries a request. This is an answer that broke off.
      if (!(error instanceof BrokenStream)) throw error;
      broken += 1;
      if (broken > MAX_BROKEN_STREAMS) throw error.lost;
      await transport.options.timing.sleep(1000 * broken, options.signal);
    }
  }
}

class BrokenStream extends Error {
  constructor(readonly lost: NoAnswer) {
    super(lost.message);
  }
}

async function* download(transport: Transport, groupId: string, query: Query, options: CallOptions): Results {
  const path = `/groups/${encodeURIComponent(groupId)}/results`;
  const { body } = await transport.stream({ ...options, method: "GET", path, query, waitSeconds: query.wait });
  if (!body) return;
  try {
    yield* readLines<GroupResult>(body);
  } catch (error) {
    options.signal?.throwIfAborted();
    throw new BrokenStream(connectionError(error));
  }
}
