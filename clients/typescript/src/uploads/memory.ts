/** Interrupted uploads, by the SHA-256 of their bytes. */

import type { CompletedPart } from "../types.js";

export interface RememberedUpload {
  file_id: string;
  parts: CompletedPart[];
  /** In milliseconds since the epoch. */
  started_at: number;
}

export interface UploadMemory {
  get(key: string): Promise<RememberedUpload | undefined>;
  set(key: string, upload: RememberedUpload): Promise<void>;
  delete(key: string): Promise<void>;
}

/** The server aborts an upload that is not completed after this time. */
export const UPLOAD_LIFETIME_MS = 24 * 60 * 60 * 1000;

/** Until the process ends. */
export class ProcessMemory implements UploadMemory {
  readonly #uploads = new Map<string, RememberedUpload>();

  get(key: string): Promise<RememberedUpload | undefined> {
    return Promise.resolve(this.#uploads.get(key));
  }

  set(key: string, upload: RememberedUpload): Promise<void> {
    this.#uploads.set(key, upload);
    return Promise.resolve();
  }

  delete(key: string): Promise<void> {
    this.#uploads.delete(key);
    return Promise.resolve();
  }
}
