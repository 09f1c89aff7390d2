/** The media type of a file, from its name or its first bytes. */

import { LongshoreError } from "../error_base.js";
import type { MediaType } from "../types.js";
import type { NamedSource } from "./source.js";

const BY_ENDING: Record<string, MediaType> = {
  jpg: "image/jpeg",
  jpeg: "image/jpeg",
  png: "image/png",
  gif: "image/gif",
  webp: "image/webp",
  pdf: "application/pdf",
  txt: "text/plain",
  csv: "text/csv",
  md: "text/markdown",
  mp4: "video/mp4",
  mov: "video/quicktime",
  webm: "video/webm",
  mkv: "video/x-matroska",
};

const BY_FIRST_BYTES: [pattern: RegExp, type: MediaType][] = [
  [/^\xff\xd8\xff/, "image/jpeg"],
  [/^\x89PNG\r\n/, "image/png"],
  [/^GIF8[79]a/, "image/gif"],
  [/^RIFF....WEBP/s, "image/webp"],
  [/^%PDF-/, "application/pdf"],
  [/^....ftypqt/s, "video/quicktime"],
  [/^....ftyp/s, "video/mp4"],
];

export async function guessMediaType({ blob, filename }: NamedSource): Promise<MediaType> {
  const known = Object.values(BY_ENDING).find((type) => type === blob.type);
  const ending = filename.split(".").at(-1)?.toLowerCase() ?? "";
  return known ?? BY_ENDING[ending] ?? (await sniff(blob)) ?? unknown(filename);
}

async function sniff(blob: Blob): Promise<MediaType | undefined> {
  const bytes = new Uint8Array(await blob.slice(0, 16).arrayBuffer());
  const text = String.fromCharCode(...bytes);
  return BY_FIRST_BYTES.find(([pattern]) => pattern.test(text))?.[1];
}

function unknown(filename: string): never {
  throw new LongshoreError(`the media type of ${filename} is unknown: pass media_type`);
}
