/** The types of requests and answers, by short names. Fields have the names of the API. */

import type { components } from "./schema.js";

type Schemas = components["schemas"];

export type Params = Schemas["Params"];
export type ChatParams = Schemas["ChatParams"];
export type EmbeddingParams = Schemas["EmbeddingParams"];
export type Message = Schemas["Message"];
export type Block = Schemas["Block"];
export type LoadRequest = Schemas["LoadRequest"];
/** What a load can have besides its params. */
export type LoadFields = Omit<LoadRequest, "params">;
export type Loaded = Schemas["Loaded"];
export type Tracking = Schemas["Tracking"];
export type CargoStatus = Schemas["CargoStatus"];
export type Completion = Schemas["Completion"];
export type Usage = Schemas["Usage"];
export type Cost = Schemas["Cost"];
export type Callback = Schemas["ResultCallback"];

export type CargoSummary = Schemas["CargoSummary"];
export type CargoList = Schemas["CargoList"];
export type CallbackAttempts = Schemas["CallbackAttempts"];
export type Resend = Schemas["Resend"];
export type CancelAnswer = Schemas["CancelAnswer"];
export type CargoWaitResult = Schemas["CargoWaitResult"];
export type BulkLoadItem = Schemas["BulkLoadItem"];
export type BulkLoad = Schemas["BulkLoad"];
export type BulkItemResult = Schemas["BulkItemResult"];
export type AcceptedItem = Schemas["AcceptedItem"];
export type RefusedItem = Schemas["RefusedItem"];
export type Estimate = Schemas["Estimate"];

export type Group = Schemas["Group"];
export type GroupList = Schemas["GroupList"];
export type GroupStatus = Schemas["GroupStatus"];
export type GroupResult = Schemas["GroupResult"];
export type CreateGroupRequest = Schemas["CreateGroupRequest"];

export type FileRecord = Schemas["File"];
export type FileList = Schemas["FileList"];
export type FileContent = Schemas["FileContent"];
export type CreateFile = Schemas["CreateFile"];
export type ChangeFile = Schemas["ChangeFile"];
export type CompletedPart = Schemas["CompletedPart"];
export type UploadSession = Schemas["UploadSession"];
export type RefreshedUpload = Schemas["RefreshedUpload"];
export type Upload = Schemas["Upload"];
export type MediaType = CreateFile["media_type"];

export type ModelList = Schemas["ModelList"];
export type Model = Schemas["Model"];
export type WhoAmI = Schemas["WhoAmI"];

/** The filters of `client.cargo.list`. Moments are `Date` or ISO 8601. */
export interface CargoQuery {
  status?: CargoStatus | CargoStatus[];
  success?: boolean;
  model?: string;
  group_id?: string;
  /** Needs `group_id`. */
  custom_id?: string;
  callback_host?: string;
  created_after?: Date | string;
  created_before?: Date | string;
}

/** The filters of `client.groups.list`. */
export interface GroupQuery {
  name_prefix?: string;
  status?: GroupStatus;
}

/** The filters of `client.files.list`. */
export interface FileQuery {
  status?: FileRecord["status"];
  kind?: FileRecord["kind"];
}

/** What `client.groups.results` yields, and in which order. */
export interface ResultsQuery {
  order?: "position" | "completion";
  /** The position of the last line that you have, or its number with `order: "completion"`. */
  after?: number;
  /** Seconds, up to 60, and only with `order: "completion"`: results are sent as they arrive. */
  wait?: number;
  success?: boolean;
  include?: "params";
}
