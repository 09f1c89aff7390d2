/** What loads would cost. */

import type { Estimate } from "./types.js";

/** In the currency: the likely cost, or the maximum if no likely one is known. */
export function likelyCost({ cost, hold }: Estimate): number {
  return (cost.likely ?? cost.most) / 10 ** hold.scale;
}
