/** Lists that read the next page when you reach the end of one. */

/** Only `next_cursor: null` is the end: a page can be empty and have a next one. */
export async function* readPages<Page extends { next_cursor: string | null }, Item>(
  readPage: (cursor: string | undefined) => Promise<Page>,
  items: (page: Page) => Item[],
): AsyncGenerator<Item, void, undefined> {
  let cursor: string | undefined;
  do {
    const page = await readPage(cursor);
    yield* items(page);
    cursor = page.next_cursor ?? undefined;
  } while (cursor !== undefined);
}

export interface PageOptions {
  /** How many records a request reads, 1 to 200. */
  pageSize?: number;
  signal?: AbortSignal;
}
