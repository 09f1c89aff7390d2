/** `client.groups`. */

import type { CallOptions } from "../options.js";
import { readPages, type PageOptions } from "../pages.js";
import { readResults } from "../running/results.js";
import type { Transport } from "../transport.js";
import type { CreateGroupRequest, Group, GroupList, GroupQuery, GroupResult, ResultsQuery } from "../types.js";

export interface CreateOptions extends CallOptions {
  metadata?: Record<string, unknown>;
  /** Called once when the group is completed or cancelled. */
  callbackUrl?: string;
}

export class Groups {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Creates a group, or returns the one with this name. */
  create(name?: string, { metadata, callbackUrl, ...options }: CreateOptions = {}): Promise<Group> {
    const body: CreateGroupRequest = {
      ...(name !== undefined && { name }),
      ...(metadata && { metadata }),
      ...(callbackUrl !== undefined && { callback_url: callbackUrl }),
    };
    // Without a name every request makes another group.
    const idempotent = name !== undefined;
    return this.#transport.json({ ...options, method: "POST", path: "/groups", body, idempotent });
  }

  /** The groups of the project, newest first. */
  list(query: GroupQuery = {}, { pageSize, signal }: PageOptions = {}): AsyncGenerator<Group, void, undefined> {
    const read = (cursor?: string) =>
      this.#transport.json<GroupList>({
        method: "GET",
        path: "/groups",
        query: { ...query, limit: pageSize, cursor },
        signal,
      });
    return readPages(read, (page) => page.groups);
  }

  /** The progress of a group. With `wait`, after so many seconds at most, or once it is completed. */
  get(groupId: string, { wait, ...options }: CallOptions & { wait?: number } = {}): Promise<Group> {
    return this.#transport.json({ ...options, method: "GET", path: path(groupId), query: { wait }, waitSeconds: wait });
  }

  /** No new cargo is added from then on. With another `total` than the group has, it is not sealed. */
  seal(groupId: string, { total, ...options }: CallOptions & { total?: number } = {}): Promise<Group> {
    const body = { total };
    return this.#transport.json({ ...options, method: "POST", path: path(groupId, "/seal"), body, idempotent: true });
  }

  /** Seals a group and cancels its cargo. */
  cancel(groupId: string, options: CallOptions = {}): Promise<Group> {
    return this.#transport.json({ ...options, method: "POST", path: path(groupId, "/cancel"), idempotent: true });
  }

  /** The results that exist. A download that breaks off continues where it was. */
  results(groupId: string, query: ResultsQuery = {}, options: CallOptions = {}): AsyncGenerator<GroupResult, void, undefined> {
    return readResults(this.#transport, groupId, query, options);
  }
}

function path(groupId: string, route = ""): string {
  return `/groups/${encodeURIComponent(groupId)}${route}`;
}
