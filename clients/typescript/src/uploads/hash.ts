/** The SHA-256 of a file and of its parts, in one pass. */

import { Sha256 } from "./sha256.js";

export const PART_BYTES = 16 << 20;
const CHUNK_BYTES = 4 << 20;

interface IncrementalHash {
  update(bytes: Uint8Array): unknown;
  digest(): Uint8Array;
}

export interface FileHash {
  /** In hex. */
  sha256: string;
  /** In base64, in order. */
  parts: string[];
}

export async function hashFile(
  blob: Blob,
  onProgress: (done: number) => void = () => undefined,
): Promise<FileHash> {
  const whole = createHash();
  const parts: string[] = [];
  for (let from = 0; from < blob.size; from += PART_BYTES) {
    const bytes = new Uint8Array(await blob.slice(from, from + PART_BYTES).arrayBuffer());
    parts.push(toBase64(new Uint8Array(await crypto.subtle.digest("SHA-256", bytes))));
    for (let at = 0; at < bytes.length; at += CHUNK_BYTES) {
      whole.update(bytes.subarray(at, at + CHUNK_BYTES));
      onProgress(Math.min(from + at + CHUNK_BYTES, blob.size));
    }
  }
  return { sha256: toHex(whole.digest()), parts };
}

// Without an import, so that bundlers for browsers need no replacement of Node's modules.
function createHash(): IncrementalHash {
  const node = globalThis.process?.getBuiltinModule?.("node:crypto");
  return node ? node.createHash("sha256") : new Sha256();
}

function toHex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

function toBase64(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes));
}
