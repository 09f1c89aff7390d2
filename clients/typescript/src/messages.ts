/** Messages and their blocks, in few words. */

import type { Block, Message } from "./types.js";

type BlockOf<Type extends Block["type"]> = Extract<Block, { type: Type }>;

/** A message of the user: a text, or blocks. */
export function user(content: Message["content"]): Message {
  return { role: "user", content };
}

/** A message of the assistant. */
export function assistant(content: Message["content"]): Message {
  return { role: "assistant", content };
}

export function text(content: string): BlockOf<"text"> {
  return { type: "text", text: content };
}

/** A ready file that is an image. */
export function image(fileId: string): BlockOf<"image"> {
  return { type: "image", source: { file_id: fileId } };
}

/** A ready file that is a document. */
export function document(fileId: string): BlockOf<"document"> {
  return { type: "document", source: { file_id: fileId } };
}

/** A ready file that is a video. */
export function video(fileId: string): BlockOf<"video"> {
  return { type: "video", source: { file_id: fileId } };
}
