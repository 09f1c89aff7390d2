/** What can be uploaded. */

import type { UploadMemory } from "./memory.js";

/** A source with its name. */
export interface NamedSource {
  blob: Blob;
  filename: string;
  /** Remembers interrupted uploads. By default the client does, until the process ends. */
  memory?: UploadMemory;
}

export type UploadSource = Blob | Uint8Array | ArrayBuffer | NamedSource;

export function toNamedSource(source: UploadSource, filename: string | undefined): NamedSource {
  if (isNamed(source)) return filename === undefined ? source : { ...source, filename };
  const blob = source instanceof Blob ? source : new Blob([source as BlobPart]);
  return { blob, filename: filename ?? nameOf(blob) ?? "file" };
}

function isNamed(source: UploadSource): source is NamedSource {
  return "blob" in source && source.blob instanceof Blob;
}

// Node 20 has File, older browsers' blobs have no name.
function nameOf(blob: Blob): string | undefined {
  return "name" in blob && typeof blob.name === "string" ? blob.name : undefined;
}
