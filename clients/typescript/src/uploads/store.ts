/** Requests to the object store. They never have the key. */

import { ApiError, FileUploadFailed } from "../error_base.js";
import type { CallOptions } from "../options.js";
import type { Files } from "../resources/files.js";
import type { Transport } from "../transport.js";
import type { Upload } from "../types.js";
import type { NamedSource } from "./source.js";

const FORBIDDEN = 403;

export interface UploadContext {
  files: Files;
  transport: Transport;
  source: NamedSource;
  fileId: string;
  call: CallOptions;
}

export type FormUpload = Extract<Upload, { type: "post" }>;
export type PartsUpload = Extract<Upload, { type: "multipart" }>;

export async function sendForm(context: UploadContext, upload: FormUpload): Promise<void> {
  const post = (grant: FormUpload) => {
    const body = () => {
      const form = new FormData();
      for (const [name, value] of Object.entries(grant.fields)) form.append(name, value);
      form.append("file", context.source.blob, context.source.filename);
      return form;
    };
    return context.transport.store({ method: "POST", url: grant.url, headers: {}, body }, context.call);
  };
  await withFreshGrant(() => post(upload), async () => {
    const refreshed = await context.files.refreshParts(context.fileId, undefined, context.call);
    return post(refreshed.upload as FormUpload);
  });
}

/** The store answers 403 to a grant that has expired. */
export async function withFreshGrant<T>(send: () => Promise<T>, sendAgain: () => Promise<T>): Promise<T> {
  const isExpired = (error: unknown) => error instanceof ApiError && error.status === FORBIDDEN;
  try {
    return await send().catch((error: unknown) => (isExpired(error) ? sendAgain() : Promise.reject(error as Error)));
  } catch (error) {
    // The answer is the store's, and not one of ours.
    if (!(error instanceof ApiError) || error.requestId !== undefined) throw error;
    throw new FileUploadFailed(`the object store refused the bytes: ${error.message}`, { cause: error });
  }
}
