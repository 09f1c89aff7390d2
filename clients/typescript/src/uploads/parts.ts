/** Sends the parts of a large file, some at a time. */

import { FileUploadFailed } from "../error_base.js";
import type { CompletedPart } from "../types.js";
import { withFreshGrant, type PartsUpload, type UploadContext } from "./store.js";

export class PartSender {
  /** In the order of their numbers. */
  done: CompletedPart[];

  constructor(
    private readonly context: UploadContext,
    private readonly upload: PartsUpload,
    private readonly checksums: string[],
    done: CompletedPart[],
  ) {
    this.done = [...done];
  }

  async send(
    parallel: number,
    onSent: (done: number) => void,
    remember: (parts: CompletedPart[]) => Promise<void>,
  ): Promise<void> {
    const missing = this.upload.parts.filter(({ part_number }) => !this.#isDone(part_number));
    // All take from one list.
    const sendSome = async () => {
      for (let part = missing.shift(); part; part = missing.shift()) {
        const sent = await this.#sendPart(part);
        this.done = [...this.done, sent].sort((one, other) => one.part_number - other.part_number);
        onSent(this.#bytesDone());
        await remember(this.done);
      }
    };
    onSent(this.#bytesDone());
    await Promise.all(Array.from({ length: Math.max(1, parallel) }, sendSome));
  }

  async #sendPart({ part_number, url }: PartsUpload["parts"][number]): Promise<CompletedPart> {
    const checksum_sha256 = this.checksums[part_number - 1] ?? "";
    const from = (part_number - 1) * this.upload.part_size_bytes;
    const blob = this.context.source.blob.slice(from, from + this.upload.part_size_bytes);
    // Not the blob, which would add its own Content-Type.
    const bytes = await blob.arrayBuffer();
    const headers = { [this.upload.checksum_header]: checksum_sha256 };
    const put = (address: string) =>
      this.context.transport.store({ method: "PUT", url: address, headers, body: () => bytes }, this.context.call);
    const response = await withFreshGrant(() => put(url), async () => put(await this.#freshUrl(part_number)));
    const etag = response.headers.get("etag");
    if (!etag) throw new FileUploadFailed(`the object store returned no ETag for part ${part_number}`);
    return { part_number, etag, checksum_sha256 };
  }

  async #freshUrl(partNumber: number): Promise<string> {
    const { files, fileId, call } = this.context;
    const { upload } = await files.refreshParts(fileId, [partNumber], call);
    const part = (upload as PartsUpload).parts.find(({ part_number }) => part_number === partNumber);
    return part?.url ?? "";
  }

  #isDone(partNumber: number): boolean {
    return this.done.some(({ part_number }) => part_number === partNumber);
  }

  #bytesDone(): number {
    const size = this.upload.part_size_bytes;
    const total = this.context.source.blob.size;
    return this.done.reduce((sum, { part_number }) => sum + Math.min(size, total - (part_number - 1) * size), 0);
  }
}
