/** `client.files`. */

import type { CallOptions } from "../options.js";
import { readPages, type PageOptions } from "../pages.js";
import type { Transport } from "../transport.js";
import type * as types from "../types.js";
import { uploadFile, type UploadOptions } from "../uploads/upload.js";
import type { UploadSource } from "../uploads/source.js";

export class Files {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /**
   * Uploads bytes and returns the ready file. `fromPath` of `longshore/node` makes a source of a path.
   *
   * An upload that was interrupted continues: parts that the store has are not sent again.
   */
  upload(source: UploadSource, options: UploadOptions = {}): Promise<types.FileRecord> {
    return uploadFile(this, this.#transport, source, options);
  }

  /** Declares a file. `upload` does this, too. */
  create(file: types.CreateFile, options: CallOptions = {}): Promise<types.UploadSession> {
    // A repeat makes another session at most, which expires.
    return this.#transport.json({ ...options, method: "POST", path: "/files", body: file, idempotent: true });
  }

  /** Ends an upload. The status `validating` means: call it again. */
  complete(fileId: string, parts?: types.CompletedPart[], options: CallOptions = {}): Promise<types.FileRecord> {
    const body = parts ? { parts } : {};
    return this.#transport.json({ ...options, method: "POST", path: path(fileId, "/complete"), body, idempotent: true });
  }

  /** Signs the grants of an upload again, for all parts or for some. */
  refreshParts(fileId: string, partNumbers?: number[], options: CallOptions = {}): Promise<types.RefreshedUpload> {
    const body = partNumbers ? { part_numbers: partNumbers } : {};
    return this.#transport.json({ ...options, method: "POST", path: path(fileId, "/parts"), body, idempotent: true });
  }

  get(fileId: string, options: CallOptions = {}): Promise<types.FileRecord> {
    return this.#transport.json({ ...options, method: "GET", path: path(fileId) });
  }

  /** The files of the project, newest first. */
  list(query: types.FileQuery = {}, options: PageOptions = {}): AsyncGenerator<types.FileRecord, void, undefined> {
    const { pageSize, signal } = options;
    const read = (cursor?: string) => {
      const page = { ...query, limit: pageSize, cursor };
      return this.#transport.json<types.FileList>({ method: "GET", path: "/files", query: page, signal });
    };
    return readPages(read, (page) => page.files);
  }

  /** A URL to download a ready file, valid for 5 minutes. */
  content(fileId: string, options: CallOptions = {}): Promise<types.FileContent> {
    return this.#transport.json({ ...options, method: "GET", path: path(fileId, "/content") });
  }

  /** Changes the fields that are given. `metadata` replaces all tags. */
  update(fileId: string, changes: types.ChangeFile, options: CallOptions = {}): Promise<types.FileRecord> {
    return this.#transport.json({ ...options, method: "PATCH", path: path(fileId), body: changes });
  }

  /** Deletes a file, or aborts its upload. With `force` also while cargo references it. */
  delete(fileId: string, { force, ...options }: CallOptions & { force?: boolean } = {}): Promise<types.FileRecord> {
    return this.#transport.json({ ...options, method: "DELETE", path: path(fileId), query: { force } });
  }
}

function path(fileId: string, route = ""): string {
  return `/files/${encodeURIComponent(fileId)}${route}`;
}
