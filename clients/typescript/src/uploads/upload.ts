/** Uploads a file: hash, declare, send, complete. */

import { InvalidState, NotFound } from "../errors.js";
import type { CallOptions } from "../options.js";
import type { Files } from "../resources/files.js";
import type { Transport } from "../transport.js";
import type { FileRecord, MediaType, Upload } from "../types.js";
import { hashFile, type FileHash } from "./hash.js";
import { guessMediaType } from "./media_type.js";
import { ProcessMemory, UPLOAD_LIFETIME_MS, type UploadMemory } from "./memory.js";
import { PartSender } from "./parts.js";
import { toNamedSource, type NamedSource, type UploadSource } from "./source.js";
import { sendForm } from "./store.js";

// Larger files are sent in parts.
const MAX_FORM_BYTES = 8 << 20;
const VALIDATING_DELAY_MS = 1000;

export interface UploadOptions extends CallOptions {
  /** By default the name of the source. */
  filename?: string;
  /** By default guessed from the name, then from the first bytes. */
  media_type?: MediaType;
  ttl_seconds?: number;
  metadata?: Record<string, unknown>;
  /** How many parts are sent at the same time. By default 4. */
  parallel?: number;
  onProgress?: (progress: UploadProgress) => void;
  memory?: UploadMemory;
}

/** How far an upload is, in bytes. */
export interface UploadProgress {
  phase: "hashing" | "uploading" | "validating";
  done: number;
  total: number;
}

const processMemory = new ProcessMemory();

export async function uploadFile(
  files: Files,
  transport: Transport,
  source: UploadSource,
  options: UploadOptions,
): Promise<FileRecord> {
  const named = toNamedSource(source, options.filename);
  const total = named.blob.size;
  const report = (phase: UploadProgress["phase"]) => (done: number) => options.onProgress?.({ phase, done, total });
  const media_type = options.media_type ?? (await guessMediaType(named));
  const hash = await hashFile(named.blob, report("hashing"));
  const job = new UploadJob(files, transport, named, hash, options, report("uploading"));
  const ready = (await job.resume()) ?? (await job.begin(media_type));
  report("validating")(total);
  return ready;
}

class UploadJob {
  readonly #memory: UploadMemory;
  readonly #call: CallOptions;

  constructor(
    private readonly files: Files,
    private readonly transport: Transport,
    private readonly source: NamedSource,
    private readonly hash: FileHash,
    private readonly options: UploadOptions,
    private readonly onSent: (done: number) => void,
  ) {
    this.#memory = options.memory ?? source.memory ?? processMemory;
    this.#call = { ...(options.signal && { signal: options.signal }) };
  }

  /** Continues an interrupted upload of the same bytes; undefined if there is none. */
  async resume(): Promise<FileRecord | undefined> {
    const known = await this.#memory.get(this.hash.sha256);
    const now = this.transport.options.timing.now();
    if (!known || now - known.started_at > UPLOAD_LIFETIME_MS) return undefined;
    try {
      const { upload } = await this.files.refreshParts(known.file_id, undefined, this.#call);
      return await this.#send(known.file_id, upload, known.parts);
    } catch (error) {
      // It was completed, aborted or deleted, or it belongs to another project.
      if (!(error instanceof InvalidState || error instanceof NotFound)) throw error;
      await this.#memory.delete(this.hash.sha256);
      return undefined;
    }
  }

  async begin(media_type: MediaType): Promise<FileRecord> {
    const { ttl_seconds, metadata } = this.options;
    const { blob, filename } = this.source;
    const optional = { ...(ttl_seconds && { ttl_seconds }), ...(metadata && { metadata }) };
    const parts = blob.size > MAX_FORM_BYTES ? { part_checksums: this.hash.parts } : {};
    const declared = { filename, media_type, size_bytes: blob.size, sha256: this.hash.sha256, ...optional, ...parts };
    const session = await this.files.create(declared, this.#call);
    if (!session.upload) return this.files.get(session.id, this.#call);
    return this.#send(session.id, session.upload, []);
  }

  async #send(fileId: string, upload: Upload, done: PartSender["done"]): Promise<FileRecord> {
    const started_at = this.transport.options.timing.now();
    const remember = (parts: PartSender["done"]) => this.#memory.set(this.hash.sha256, { file_id: fileId, parts, started_at });
    await remember(done);
    const sent = { files: this.files, transport: this.transport, source: this.source, fileId, call: this.#call };
    if (upload.type === "post") {
      await sendForm(sent, upload);
      this.onSent(this.source.blob.size);
      return this.#complete(fileId);
    }
    const sender = new PartSender(sent, upload, this.hash.parts, done);
    await sender.send(this.options.parallel ?? 4, this.onSent, remember);
    return this.#complete(fileId, sender.done);
  }

  async #complete(fileId: string, parts?: PartSender["done"]): Promise<FileRecord> {
    for (;;) {
      const file = await this.files.complete(fileId, parts, this.#call);
      if (file.status !== "validating") {
        await this.#memory.delete(this.hash.sha256);
        return file;
      }
      await this.transport.options.timing.sleep(VALIDATING_DELAY_MS, this.options.signal);
    }
  }
}
