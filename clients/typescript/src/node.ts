/** `longshore/node`: files by their path. */

import { openAsBlob } from "node:fs";
import { mkdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { basename, join } from "node:path";
import type { NamedSource } from "./uploads/source.js";
import type { RememberedUpload, UploadMemory } from "./uploads/memory.js";

/** A source for `client.files.upload`. The file is read in parts, and an interrupted upload is remembered. */
export async function fromPath(path: string, { memory = new CacheMemory() }: { memory?: UploadMemory } = {}): Promise<NamedSource> {
  await stat(path);
  const blob = await openAsBlob(path);
  return { blob, filename: basename(path), memory };
}

/** Interrupted uploads as files, so that another process can continue them. */
export class CacheMemory implements UploadMemory {
  constructor(private readonly folder = defaultFolder()) {}

  async get(key: string): Promise<RememberedUpload | undefined> {
    try {
      return JSON.parse(await readFile(this.#path(key), "utf8")) as RememberedUpload;
    } catch {
      // Missing or damaged: the upload begins from the start.
      return undefined;
    }
  }

  async set(key: string, upload: RememberedUpload): Promise<void> {
    await mkdir(this.folder, { recursive: true });
    const path = this.#path(key);
    // A process that dies here leaves the old file.
    const next = `${path}.${process.pid}`;
    await writeFile(next, JSON.stringify(upload), { mode: 0o600 });
    await rename(next, path);
  }

  async delete(key: string): Promise<void> {
    await rm(this.#path(key), { force: true });
  }

  #path(key: string): string {
    return join(this.folder, `${key}.json`);
  }
}

function defaultFolder(): string {
  const cache = process.env["XDG_CACHE_HOME"] || join(homedir(), ".cache");
  return join(cache, "longshore", "uploads");
}
