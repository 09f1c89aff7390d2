/** Lines of JSON from a stream of bytes. */

/** A last line without its end is dropped: the stream broke off there. */
export async function* readLines<T>(body: ReadableStream<Uint8Array>): AsyncGenerator<T, void, undefined> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      // Only a new line feed can end a line: the rest is not searched again.
      const text = decoder.decode(value, { stream: true });
      const lines = text.split("\n");
      lines[0] = rest + lines[0];
      rest = lines.pop() ?? "";
      for (const line of lines) if (line.trim()) yield JSON.parse(line) as T;
    }
  } finally {
    // The caller may stop early, and then the connection is of no more use.
    await reader.cancel().catch(() => undefined);
  }
}
