// Generated from openapi.json by `npm run generate`. Do not edit.

export type paths = Record<string, never>;
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        /** @description The item is on disk. */
        AcceptedItem: {
            /** @example crg_019b76da807b774b805000000000002a */
            cargo_id: string;
            /**
             * @description The place of the item in the request, from 0.
             * @example 0
             */
            index: number;
            /**
             * @description Whether the item was loaded before: with the same idempotency key, or with the same
             *     `custom_id` in its group.
             */
            replay: boolean;
            /**
             * Format: int32
             * @example 202
             */
            status: number;
            /** @description Absent if there are none. */
            warnings?: components["schemas"]["Warning"][];
        };
        /**
         * @description One entry of the audit log. Every field is always present. No field holds a prompt, an answer
         *     or a secret.
         */
        AuditEntry: {
            /**
             * @description What was done, for programs: a thing and a verb.
             * @example key.created
             */
            action: string;
            /**
             * @description Who did it: an e-mail address, `console` for the command line, or `not signed in`.
             * @example ada@example.com
             */
            actor: string;
            /**
             * @description Null for the command line and for people who are not signed in.
             * @example usr_019b76da807b774b805000000000002a
             */
            actor_id: string | null;
            /**
             * @description The IP address of the client; null for the command line.
             * @example 203.0.113.9
             */
            address: string | null;
            /**
             * @description More about it, for people; often empty.
             * @example
             */
            detail: string;
            /**
             * Format: int64
             * @description Rises from entry to entry, with gaps. The `after` of the next request.
             * @example 4711
             */
            id: number;
            /**
             * @description Null if the entry belongs to no organization, such as a sign-in.
             * @example org_019b76da807b774b805000000000002a
             */
            organization_id: string | null;
            outcome: components["schemas"]["AuditOutcome"];
            /** @example prj_019b76da807b774b805000000000002a */
            project_id: string | null;
            /**
             * @description What it was done to.
             * @example production server (svc_sk_ABCDE…)
             */
            target: string;
            time: components["schemas"]["Moment"];
            /**
             * @description The browser, as it named itself; null for the command line.
             * @example Mozilla/5.0
             */
            user_agent: string | null;
        };
        /**
         * @description Whether it was done, or refused.
         * @enum {string}
         */
        AuditOutcome: "success" | "failure";
        /** @description The organization's credit, in whole numbers of 10^-`scale` of the currency. */
        Balance: {
            /**
             * Format: int64
             * @description What new loads may use.
             * @example 1998750000
             */
            available: number;
            /** @example USD */
            currency: string;
            /**
             * Format: int64
             * @description Set aside for cargo in flight.
             * @example 0
             */
            held: number;
            /**
             * Format: int32
             * @example 9
             */
            scale: number;
        };
        /**
         * @description Text, a file that the model can read, or a part of an earlier turn.
         *
         *     Images need a model with Vision, documents one with Documents, videos one with Video. Blocks
         *     of tools and thoughts need a model with these features.
         */
        Block: {
            cache_control?: components["schemas"]["CacheControl"] | null;
            text: string;
            /** @enum {string} */
            type: "text";
        } | {
            cache_control?: components["schemas"]["CacheControl"] | null;
            source: components["schemas"]["Source"];
            /** @enum {string} */
            type: "image";
        } | {
            cache_control?: components["schemas"]["CacheControl"] | null;
            source: components["schemas"]["Source"];
            /** @enum {string} */
            type: "document";
        } | {
            cache_control?: components["schemas"]["CacheControl"] | null;
            source: components["schemas"]["Source"];
            /** @enum {string} */
            type: "video";
        } | {
            cache_control?: components["schemas"]["CacheControl"] | null;
            /** @example toolu_1 */
            id: string;
            input: Record<string, unknown>;
            /** @example get_weather */
            name: string;
            /** @enum {string} */
            type: "tool_use";
        } | {
            cache_control?: components["schemas"]["CacheControl"] | null;
            content?: components["schemas"]["ToolResultContent"] | null;
            /** @description Whether the tool failed. */
            is_error?: boolean;
            /**
             * @description The `id` of the call.
             * @example toolu_1
             */
            tool_use_id: string;
            /** @enum {string} */
            type: "tool_result";
        } | {
            signature: string;
            thinking: string;
            /** @enum {string} */
            type: "thinking";
        } | {
            data: string;
            /** @enum {string} */
            type: "redacted_thinking";
        };
        /** @description What `POST /cargo/load` would have answered to the item. */
        BulkItemResult: components["schemas"]["AcceptedItem"] | components["schemas"]["RefusedItem"];
        /** @description One result for each item, in the order of the request. */
        BulkLoad: {
            /**
             * @description How many items are on disk.
             * @example 1
             */
            accepted: number;
            /** @example 0 */
            refused: number;
            results: components["schemas"]["BulkItemResult"][];
        };
        /** @description A load, as `POST /cargo/load` takes it, optionally with its own idempotency key. */
        BulkLoadItem: components["schemas"]["LoadRequest"] & {
            /**
             * @description The `Idempotency-Key` of this load. It replaces the one that is made from the header.
             * @example order-7
             */
            idempotency_key?: string | null;
        };
        /** @description Up to 1,000 loads. They can also be sent as NDJSON, one load per line. */
        BulkLoadRequest: {
            cargo: components["schemas"]["BulkLoadItem"][];
        };
        /**
         * @description Asks the provider to cache the prompt up to this part. At most 4 in a request, those of an hour
         *     before those of 5 minutes. A model without such marks ignores them.
         */
        CacheControl: {
            ttl?: components["schemas"]["CacheTtl"] | null;
            /** @enum {string} */
            type: "ephemeral";
        };
        /**
         * @description How long the prompt stays in the cache.
         * @enum {string}
         */
        CacheTtl: "5m" | "1h";
        /** @description One POST to `callback_url`. */
        CallbackAttempt: {
            /**
             * @description The first 1 KB of the answer as text. Null if there was none, or if it was erased.
             * @example out of memory
             */
            answer: string | null;
            ended_at: components["schemas"]["Moment"];
            /**
             * @description Why the attempt failed; null if it was acknowledged.
             * @example HTTP 500
             */
            error: string | null;
            /**
             * Format: int64
             * @example 84
             */
            latency_ms: number;
            /**
             * Format: int32
             * @description Counts from 1.
             * @example 1
             */
            number: number;
            /** @description Whether it was a resend, which is tried once. */
            resend: boolean;
            started_at: components["schemas"]["Moment"];
            /**
             * Format: int32
             * @description Null if the receiver did not answer.
             * @example 500
             */
            status_code: number | null;
        };
        /** @description The attempts of a callback. */
        CallbackAttempts: {
            /** @description The last 100, oldest first. */
            attempts: components["schemas"]["CallbackAttempt"][];
            next_attempt_at: components["schemas"]["Moment"] | null;
        };
        /**
         * @description How far a callback is.
         * @enum {string}
         */
        CallbackStatus: "open" | "delivered" | "failed";
        /** @description The host of the callback, and how far it is. */
        CallbackSummary: {
            /**
             * @description With its port.
             * @example example.com:443
             */
            host: string;
            status: components["schemas"]["CallbackStatus"];
        };
        /** @description The callback and its attempts. */
        CallbackTracking: {
            /**
             * Format: int32
             * @description How many attempts have ended.
             * @example 1
             */
            attempts: number;
            delivered_at: components["schemas"]["Moment"] | null;
            last_attempt_at: components["schemas"]["Moment"] | null;
            last_error: string | null;
            /**
             * Format: int32
             * @example 200
             */
            last_status_code: number | null;
            next_attempt_at: components["schemas"]["Moment"] | null;
            /** @example https://example.com/callbacks/longshore */
            url: string;
        };
        /** @description The token bucket of the organization's loads. */
        CallerLimits: {
            /**
             * Format: int32
             * @example 5000
             */
            burst: number;
            /**
             * Format: int32
             * @example 600
             */
            sustained_requests_per_minute: number;
        };
        CancelAnswer: {
            cancel: components["schemas"]["CancelResult"];
            /** @example crg_019b76da807b774b805000000000002a */
            cargo_id: string;
            /** @description The status after the request. */
            status: components["schemas"]["CargoStatus"];
        };
        /**
         * @description What became of the request to cancel.
         *
         *     `cancelled`: no provider has it, and none will get it. It is completed with the error code
         *     `cancelled`, costs nothing, and its callback is sent. `too_late`: a provider has it or may have
         *     it. Its answer is stored, charged and delivered; if it comes back without one, it is cancelled.
         *     `done`: it was completed before.
         * @enum {string}
         */
        CancelResult: "cancelled" | "too_late" | "done";
        /**
         * @description The kind of request.
         * @enum {string}
         */
        CargoKind: "chat" | "embedding";
        /** @description A page of cargo, newest first. */
        CargoList: {
            cargo: components["schemas"]["CargoSummary"][];
            looked_until: components["schemas"]["Moment"] | null;
            /**
             * @description The `cursor` of the next page. Only null is the end of the list: a page can be short, even
             *     empty, and have a next one.
             * @example AQGbdtqAe3dLgFAAAAAAACo
             */
            next_cursor: string | null;
        };
        /**
         * @description The status of the cargo. COMPLETED is the last status when there is no callback.
         * @enum {string}
         */
        CargoStatus: "PENDING" | "BATCHED" | "PROCESSING" | "COMPLETED" | "callback_delivered" | "callback_failed";
        /**
         * @description A cargo without its answer, which tracking has. Every field is always present; unknown values
         *     are null.
         */
        CargoSummary: {
            /**
             * Format: int32
             * @description Counts from 1; higher when a provider lost the batch and the cargo went into another one.
             * @example 1
             */
            attempt: number;
            callback: components["schemas"]["CallbackSummary"] | null;
            /** @example crg_019b76da807b774b805000000000002a */
            cargo_id: string;
            completed_at: components["schemas"]["Moment"] | null;
            cost: components["schemas"]["Cost"];
            created_at: components["schemas"]["Moment"];
            /**
             * @description The caller's name for it within its group.
             * @example row-17
             */
            custom_id: string | null;
            /** @description Why processing failed, for people. */
            error: string | null;
            /**
             * @description Why processing failed, for programs.
             * @example request_rejected
             */
            error_code: string | null;
            /** @example grp_019b76da807b774b805000000000002a */
            group_id: string | null;
            kind: components["schemas"]["CargoKind"];
            /** @description As given at load. */
            metadata: Record<string, unknown> | null;
            /** @example svc-mock */
            model: string;
            status: components["schemas"]["CargoStatus"];
            /** @description Null until completed. */
            success: boolean | null;
            usage: components["schemas"]["Usage"] | null;
        };
        /** @description The cargo to wait for. */
        CargoWait: {
            /**
             * @example [
             *       "crg_019b76da807b774b805000000000002a"
             *     ]
             */
            cargo_ids: string[];
            /**
             * Format: int32
             * @description The maximum number of seconds to wait. The operator can set a lower maximum, by default 50.
             * @default 60
             * @example 50
             */
            wait: number;
        };
        /** @description Each cargo of the request is in one of the lists. */
        CargoWaitResult: {
            /** @description The records of completed cargo: at most 100, and fewer if they are large. */
            completed: components["schemas"]["Tracking"][];
            /**
             * @description Wait for these again. Completed cargo whose record did not fit is here, too, and the next
             *     request gets it at once.
             * @example [
             *       "crg_019b76da807b774b805000000000002b"
             *     ]
             */
            pending: string[];
            /** @description Not an id of a cargo of your project. */
            unknown: string[];
        };
        /** @description The fields to change; the others stay. */
        ChangeFile: {
            /** @description Replaces all tags. */
            metadata?: Record<string, unknown> | null;
            /** @description A pinned file does not expire by its time to live. */
            pinned?: boolean | null;
            /**
             * Format: int32
             * @description Counts from now if the file is ready.
             * @example 7200
             */
            ttl_seconds?: number | null;
        };
        /**
         * Chat
         * @description The answer to a chat request.
         */
        ChatCompletion: {
            /**
             * @description One text block. The answer to a request with tools, `thinking` or `output_config` may have
             *     other blocks and no text.
             */
            content: components["schemas"]["CompletionBlock"][];
            /** @example msg_019b76da807b774b805000000000002a */
            id: string;
            /**
             * @description The model that processed the request.
             * @example svc-mock
             */
            model: string;
            /** @example assistant */
            role: string;
            /** @description Why the model refused, if it says so. */
            stop_details?: components["schemas"]["StopDetails"];
            stop_reason: components["schemas"]["StopReason"];
            /**
             * @description The stop sequence that ended the answer, if the provider names it.
             * @example END
             */
            stop_sequence?: string;
            /** @example message */
            type: string;
            usage: components["schemas"]["Usage"];
        };
        /**
         * Chat
         * @description A conversation to be continued.
         */
        ChatParams: {
            cache_control?: components["schemas"]["CacheControl"] | null;
            /**
             * Format: int32
             * @description The most tokens the answer may have. There is no default.
             * @example 64
             */
            max_tokens: number;
            /** @description The conversation so far. */
            messages: components["schemas"]["Message"][];
            /**
             * @description A model id; case matters. `svc-mock` is free and answers in about a minute.
             * @example svc-mock
             */
            model: string;
            output_config?: components["schemas"]["OutputConfig"] | null;
            /** @description Fields for one kind of provider, such as `openai`. Only those that the operator allows. */
            provider_options?: Record<string, unknown> | null;
            /**
             * Format: int32
             * @description Makes answers more repeatable, where the model supports it.
             * @example 7
             */
            seed?: number | null;
            /**
             * @description The answer ends before the first of these.
             * @example [
             *       "END"
             *     ]
             */
            stop_sequences?: string[];
            system?: components["schemas"]["System"] | null;
            /**
             * Format: double
             * @example 0.7
             */
            temperature?: number | null;
            thinking?: components["schemas"]["Thinking"] | null;
            tool_choice?: components["schemas"]["ToolChoice"] | null;
            /** @description Functions that the model may ask you to run. */
            tools?: components["schemas"]["Tool"][];
            /**
             * Format: int64
             * @example 40
             */
            top_k?: number | null;
            /**
             * Format: double
             * @example 0.9
             */
            top_p?: number | null;
        };
        /** @description `error` is for programs, `message` for people; further fields depend on the error. */
        CodedDetail: {
            /** @example invalid_model */
            error: string;
            message: string;
        } & {
            [key: string]: unknown;
        };
        /** @description An uploaded part. */
        CompletedPart: {
            /**
             * @description The base64 SHA-256 of the chunk.
             * @example 47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=
             */
            checksum_sha256: string;
            /**
             * @description The `ETag` that the object store returned.
             * @example "b54357faf0632cce46e942fa68356b38"
             */
            etag: string;
            /**
             * Format: int32
             * @example 1
             */
            part_number: number;
        };
        /** @description `{}` for a file that was uploaded in one POST; otherwise every part. */
        CompleteFile: {
            parts?: components["schemas"]["CompletedPart"][] | null;
        };
        /** @description The answer of the model. */
        Completion: components["schemas"]["EmbeddingCompletion"] | components["schemas"]["ChatCompletion"];
        /** @description A part of the answer. */
        CompletionBlock: {
            /** @example Hello! */
            text: string;
            /** @enum {string} */
            type: "text";
        } | {
            /** @example toolu_1 */
            id: string;
            /** @description The arguments. If the model wrote no JSON object, its text is in `_raw`. */
            input: Record<string, unknown>;
            /** @example get_weather */
            name: string;
            /** @enum {string} */
            type: "tool_use";
        } | {
            signature: string;
            thinking: string;
            /** @enum {string} */
            type: "thinking";
        } | {
            data: string;
            /** @enum {string} */
            type: "redacted_thinking";
        };
        /** @description A text, or blocks of text, files, calls of tools and their results, and thoughts. */
        Content: string | components["schemas"]["Block"][];
        /** @description Money in whole numbers of 10^-`scale` of the currency. */
        Cost: {
            /**
             * Format: int64
             * @description Null until completed; never more than was held.
             * @example 0
             */
            charged: number | null;
            /** @example USD */
            currency: string;
            /**
             * Format: int64
             * @description What is set aside while the cargo is in flight.
             * @example 0
             */
            held: number;
            /**
             * Format: int64
             * @description What the same work would have cost in realtime. Null until completed, if it failed or was
             *     free, and if no realtime price is known.
             * @example 0
             */
            realtime: number | null;
            /**
             * Format: int64
             * @description What the batch saved against `realtime`; null if `realtime` is null, and never negative.
             * @example 0
             */
            saved: number | null;
            /**
             * Format: int32
             * @example 9
             */
            scale: number;
        };
        /** @description The declaration of the bytes. Other bytes never become a ready file. */
        CreateFile: {
            /**
             * @description For display only.
             * @example bill of lading.pdf
             */
            filename: string;
            /** @enum {string} */
            media_type: "image/jpeg" | "image/png" | "image/gif" | "image/webp" | "application/pdf" | "text/plain" | "text/csv" | "text/markdown" | "video/mp4" | "video/quicktime" | "video/webm" | "video/x-matroska";
            /** @description Your tags, at most 4,096 bytes of JSON. */
            metadata?: Record<string, unknown> | null;
            /**
             * @description The base64 SHA-256 of every part, in order. With them the object store refuses other
             *     bytes. Only for files larger than 8 MB.
             */
            part_checksums?: string[] | null;
            /** @description SHA-256 of the exact bytes, in hex. */
            sha256: string;
            /**
             * Format: int64
             * @description At most 20 MB for an image, 50 MB for a document, 1 GB for a video.
             * @example 48213
             */
            size_bytes: number;
            /**
             * Format: int32
             * @description Time to live once the file is ready; 30 days by default.
             * @example 2592000
             */
            ttl_seconds?: number | null;
        };
        /** @description A new group. Every field is optional. */
        CreateGroupRequest: {
            /**
             * @description Called once when the group is completed or cancelled, with its counts. The callbacks of
             *     cargo have their own URLs. A group that exists keeps its own.
             * @example https://example.com/callbacks/groups
             */
            callback_url?: string | null;
            /** @description Your tags, at most 4,096 bytes of JSON. The record of the group returns them as given. */
            metadata?: Record<string, unknown> | null;
            /**
             * @description Unique in your project. If there is a group of this name, it is returned. Without a name,
             *     the name is the `group_id`.
             * @example invoices-2026-11
             */
            name?: string | null;
        };
        /** @description A database or service that this process depends on. */
        Dependency: {
            /**
             * Format: double
             * @description How long it took to answer.
             * @example 0.4
             */
            latency_ms: number | null;
            /** @example shard main */
            name: string;
            state: components["schemas"]["DependencyState"];
        };
        /** @enum {string} */
        DependencyState: "ok" | "away" | "failed" | "unknown";
        /** @description A text, an error with a code for programs, or a list of validation errors. */
        Detail: string | components["schemas"]["CodedDetail"] | components["schemas"]["Fault"][];
        /**
         * @description How hard the model tries. Not every model has every level.
         * @enum {string}
         */
        Effort: "low" | "medium" | "high" | "xhigh" | "max";
        /**
         * Embedding
         * @description The answer to an embedding request: one vector for each text, in the order of the texts.
         */
        EmbeddingCompletion: {
            /**
             * @example [
             *       [
             *         0.25,
             *         -0.5
             *       ]
             *     ]
             */
            embeddings: number[][];
            id: string;
            model: string;
            /** @example embedding */
            type: string;
            usage: components["schemas"]["Usage"];
        };
        /** @description What an embedding model can do. */
        EmbeddingFeatures: {
            dimensions: components["schemas"]["NumberRange"] | null;
            input_type: boolean;
            /**
             * Format: int32
             * @description Texts in one load; null means any number.
             * @example 100
             */
            max_inputs: number | null;
        };
        /**
         * @description What the vectors are for.
         * @enum {string}
         */
        EmbeddingInputType: "query" | "document" | "similarity" | "classification" | "clustering";
        /**
         * Embedding
         * @description Texts to be turned into vectors.
         */
        EmbeddingParams: {
            /**
             * Format: int32
             * @description The length of the vectors, if the model lets you choose it.
             * @example 256
             */
            dimensions?: number | null;
            input_text: components["schemas"]["InputText"];
            input_type?: components["schemas"]["EmbeddingInputType"] | null;
            /** @description The id of an embedding model; case matters. */
            model: string;
        };
        /** @description Amounts are whole nano-dollars. Nothing was stored. */
        Estimate: {
            /**
             * Format: int64
             * @description The available credit after all holds. Negative if there is too little. Null if the key has
             *     no right to read.
             * @example 41600000
             */
            balance_after_hold: number | null;
            based_on: components["schemas"]["EstimateSamples"];
            cost: components["schemas"]["EstimatedCost"];
            /**
             * @description What `POST /cargo/load` would answer to the loads that it would refuse. All other figures
             *     are of the other loads.
             */
            faults: components["schemas"]["RefusedItem"][];
            hold: components["schemas"]["EstimatedHold"];
            /**
             * @description The loads of the request, with those that have faults.
             * @example 1000
             */
            items: number;
            /**
             * @description The code with which a load would be refused now: `rate_limit_exceeded`, `quota_exceeded`,
             *     `insufficient_credits` or `key_spending_cap_exceeded`. Null if all would be accepted.
             * @example insufficient_credits
             */
            refused_by: string | null;
            tokens: components["schemas"]["EstimatedTokens"];
            turnaround: components["schemas"]["EstimatedTurnaround"];
        };
        /** @description What the loads would be charged. `low`, `likely` and `high` are null with too few samples. */
        EstimatedCost: {
            /**
             * Format: int64
             * @description One of ten such sets of loads costs more.
             * @example 31200000
             */
            high: number | null;
            /**
             * Format: int64
             * @description The mean.
             * @example 21900000
             */
            likely: number | null;
            /**
             * Format: int64
             * @description One of ten such sets of loads costs less.
             * @example 18100000
             */
            low: number | null;
            /**
             * Format: int64
             * @description They cannot cost more than their holds.
             * @example 57150000
             */
            most: number;
            /**
             * Format: int64
             * @description What the same work would cost in realtime. Null with too few samples, without a realtime
             *     price, and for free loads.
             * @example 43800000
             */
            realtime_likely: number | null;
        };
        /** @description What would be set aside until the outcomes. */
        EstimatedHold: {
            /**
             * Format: int64
             * @example 57150000
             */
            amount: number;
            /** @example USD */
            currency: string;
            /**
             * Format: int32
             * @example 9
             */
            scale: number;
        };
        EstimatedInput: {
            /**
             * Format: int64
             * @description The most that the provider can count.
             * @example 310000
             */
            bound: number;
            /**
             * Format: int64
             * @description Null with too few samples.
             * @example 84000
             */
            likely: number | null;
        };
        /** @description The percentiles are of the sum over all loads. They are null with too few samples. */
        EstimatedOutput: {
            /**
             * Format: int64
             * @example 640000
             */
            bound: number;
            /**
             * Format: int64
             * @example 110000
             */
            p10: number | null;
            /**
             * Format: int64
             * @example 150000
             */
            p50: number | null;
            /**
             * Format: int64
             * @example 240000
             */
            p90: number | null;
        };
        EstimatedTokens: {
            input: components["schemas"]["EstimatedInput"];
            output: components["schemas"]["EstimatedOutput"];
        };
        /** @description How long recent batches of the same ways took, of the slowest way. */
        EstimatedTurnaround: {
            expected_at: components["schemas"]["Moment"] | null;
            /**
             * Format: int64
             * @description How long the plan's rate limit makes the loads take.
             * @example 0
             */
            loading_seconds: number;
            /**
             * Format: int64
             * @description Null if it was not measured, or if a way is paused.
             * @example 660
             */
            p50_seconds: number | null;
            /**
             * Format: int64
             * @example 1140
             */
            p90_seconds: number | null;
        };
        /** @description The body of `POST /cargo/load` or of `POST /cargo/bulk`. */
        EstimateRequest: components["schemas"]["LoadRequest"] | components["schemas"]["BulkLoadRequest"];
        /** @description The settled cargo from which the figures are learned. */
        EstimateSamples: {
            /**
             * Format: int64
             * @description Of the model with the fewest. With fewer than 20, only the bounds are stated.
             * @example 500
             */
            samples: number;
            since: components["schemas"]["Moment"] | null;
        };
        /** @description One thing wrong with the request, and where. */
        Fault: {
            /**
             * @description The path to it: keys, and indices of arrays.
             * @example [
             *       "body",
             *       "params"
             *     ]
             */
            loc: components["schemas"]["Step"][];
            /** @example max_tokens is required for chat requests */
            msg: string;
            /** @example value_error */
            type: string;
        };
        /** @description The record of one file. Every field is always present. */
        File: {
            /**
             * Format: int64
             * @description How many cargo in flight reference it.
             * @example 0
             */
            active_ref_count: number;
            created_at: components["schemas"]["Moment"];
            /** @description Until the file is ready, provisional: as if it became ready when its first grant expires. */
            expires_at: components["schemas"]["Moment"];
            /** @enum {string|null} */
            failure_reason: "size_mismatch" | "checksum_mismatch" | "magic_byte_mismatch" | "malformed_document" | "malformed_image" | "malformed_video" | "too_many_pages" | "video_too_long" | "encrypted_document" | "malware_detected" | "scan_timeout" | "scan_limit_exceeded" | "upload_missing" | "upload_aborted" | "upload_abandoned" | null;
            /**
             * @description For display only.
             * @example bill of lading.pdf
             */
            filename: string;
            /** @example file_019b76da807b774b805000000000002a */
            id: string;
            /** @enum {string} */
            kind: "image" | "document" | "video";
            /** @enum {string} */
            media_type: "image/jpeg" | "image/png" | "image/gif" | "image/webp" | "application/pdf" | "text/plain" | "text/csv" | "text/markdown" | "video/mp4" | "video/quicktime" | "video/webm" | "video/x-matroska";
            /** @description Your tags, as given. */
            metadata: Record<string, unknown>;
            /** @description A pinned file does not expire by its time to live. */
            pinned: boolean;
            /** @enum {string} */
            scan_status: "pending" | "clean" | "infected" | "error" | "timeout";
            sha256: string;
            /**
             * Format: int64
             * @example 48213
             */
            size_bytes: number;
            /** @enum {string} */
            status: "uploading" | "validating" | "ready" | "failed" | "expired";
            /**
             * Format: int32
             * @description Time to live once the file is ready.
             * @example 2592000
             */
            ttl_seconds: number;
        };
        /** @description Where to download a ready file, for five minutes and without an API key. */
        FileContent: {
            /** Format: uri */
            download_url: string;
            expires_at: components["schemas"]["Moment"];
            /** @example bill of lading.pdf */
            filename: string;
            /** @example file_019b76da807b774b805000000000002a */
            id: string;
            /** @enum {string} */
            media_type: "image/jpeg" | "image/png" | "image/gif" | "image/webp" | "application/pdf" | "text/plain" | "text/csv" | "text/markdown" | "video/mp4" | "video/quicktime" | "video/webm" | "video/x-matroska";
            /**
             * Format: int64
             * @example 48213
             */
            size_bytes: number;
        };
        /** @description A page of files, newest first. */
        FileList: {
            files: components["schemas"]["File"][];
            /**
             * @description The `cursor` of the next page; null when there are no older files.
             * @example MQGbdtqAe3dLgFAAAAAAACo
             */
            next_cursor: string | null;
        };
        /** @description `error` is for programs, `message` for people; `detail` repeats both. */
        FileRefusal: {
            detail: components["schemas"]["CodedDetail"];
            /** @example invalid_request */
            error: string;
            message: string;
        };
        /** @description The record of a group. */
        Group: {
            /**
             * @description Absent if the group has no `callback_url`, in lists, and in the answer of `POST /groups`.
             *     Once the group is completed, `next_attempt_at` and `delivered_at` are both null when all
             *     retries have failed.
             */
            callback?: components["schemas"]["CallbackTracking"];
            cancel_requested_at: components["schemas"]["Moment"] | null;
            completed_at: components["schemas"]["Moment"] | null;
            cost: components["schemas"]["GroupCost"];
            counts: components["schemas"]["GroupCounts"];
            created_at: components["schemas"]["Moment"];
            /** @description Only in the answer of `POST /groups`: whether there was a group of this name. */
            existing?: boolean;
            /**
             * @description When its newest cargo is expected to end, by how long recent batches took. Absent if nothing
             *     is unfinished, if no estimate is possible, in lists, and in the answer of `POST /groups`.
             */
            expected_at?: components["schemas"]["Moment"];
            /** @description The ten most frequent failures. Absent in lists. */
            failures?: components["schemas"]["GroupFailure"][];
            /** @example grp_019b76da807b774b805000000000002a */
            group_id: string;
            /** @description As given when the group was created. */
            metadata: Record<string, unknown> | null;
            /** @example invoices-2026-11 */
            name: string;
            sealed_at: components["schemas"]["Moment"] | null;
            status: components["schemas"]["GroupStatus"];
            /** @description Of all completed cargo. */
            usage: components["schemas"]["Usage"];
        };
        /**
         * @description Sent to the `callback_url` of a group when the group is completed or cancelled.
         *
         *     It may be delivered more than once: deduplicate by `group_id`.
         */
        GroupCallback: {
            completed_at: components["schemas"]["Moment"];
            counts: components["schemas"]["GroupCounts"];
            /** @example grp_019b76da807b774b805000000000002a */
            group_id: string;
            /** @description As given when the group was created. */
            metadata: Record<string, unknown> | null;
            /** @example invoices-2026-11 */
            name: string;
            /** @description `completed` or `cancelled`. */
            status: components["schemas"]["GroupStatus"];
            /**
             * @description Callbacks of cargo have no `type`.
             * @example group.completed
             */
            type: string;
        };
        /** @description Sums over the cargo of a group, in whole numbers of 10^-`scale` of the currency. */
        GroupCost: {
            /**
             * Format: int64
             * @example 0
             */
            charged: number;
            /** @example USD */
            currency: string;
            /**
             * Format: int64
             * @description What is set aside for cargo in flight.
             * @example 0
             */
            held: number;
            /**
             * Format: int64
             * @description What the completed work would have cost in realtime, where a realtime price is known.
             * @example 0
             */
            realtime: number;
            /**
             * Format: int64
             * @description What batching saved against `realtime`.
             * @example 0
             */
            saved: number;
            /**
             * Format: int32
             * @example 9
             */
            scale: number;
        };
        /** @description How many cargo a group has, by how they ended. */
        GroupCounts: {
            /**
             * Format: int64
             * @example 0
             */
            cancelled: number;
            /**
             * Format: int64
             * @description Without the cancelled ones.
             * @example 10
             */
            failed: number;
            /**
             * Format: int64
             * @example 1890
             */
            succeeded: number;
            /**
             * Format: int64
             * @example 2000
             */
            total: number;
            /**
             * Format: int64
             * @example 100
             */
            unfinished: number;
        };
        /** @description How often cargo of the group failed in the same way, with one of them as an example. */
        GroupFailure: {
            /** @example crg_019b76da807b774b805000000000002a */
            cargo_id: string;
            /**
             * Format: int64
             * @example 10
             */
            count: number;
            /**
             * @description The error without its details. For people: the text may change.
             * @example storm
             */
            error: string;
        };
        /** @description A page of groups, newest first. */
        GroupList: {
            groups: components["schemas"]["Group"][];
            /** @description Null on the last page. */
            next_cursor: string | null;
        };
        /** @description One line of the results of a group. */
        GroupResult: {
            /** @example crg_019b76da807b774b805000000000002a */
            cargo_id: string;
            completed_at: components["schemas"]["Moment"];
            cost: components["schemas"]["GroupResultCost"];
            created_at: components["schemas"]["Moment"];
            /**
             * @description Of the load, or its position as text.
             * @example invoice-7
             */
            custom_id: string;
            /** @description When the request, the answer and the metadata were erased. Absent until then. */
            erased_at?: components["schemas"]["Moment"];
            /** @description Why processing failed. For people: the text may change. */
            error: string | null;
            /**
             * @description One of the codes for failures.
             * @example request_rejected
             */
            error_code: string | null;
            /** @description As given at load. */
            metadata: Record<string, unknown> | null;
            /** @example svc-mock */
            model: string;
            /**
             * Format: int64
             * @description The place in the order of completion, from 1 without a gap.
             * @example 1
             */
            number: number;
            /** @description The params of the load. Only with `include=params`. */
            params?: components["schemas"]["Params"];
            /**
             * Format: int64
             * @description The place in the group, from 0.
             * @example 0
             */
            position: number;
            response: components["schemas"]["Completion"] | null;
            success: boolean;
            usage: components["schemas"]["Usage"];
        };
        /** @description What the cargo cost, in nano-dollars. */
        GroupResultCost: {
            /**
             * Format: int64
             * @example 0
             */
            charged: number;
        };
        /**
         * @description The status of a group. `cancelled` and `completed` are last.
         * @enum {string}
         */
        GroupStatus: "open" | "sealed" | "cancelling" | "cancelled" | "completed";
        /** @description The process serves requests. */
        Health: {
            /** @example ok */
            status: string;
            /** @example 0.1.0 */
            version: string;
        };
        /** @description One text, or several that get one vector each. */
        InputText: string | string[];
        /** @description Parts of `input_tokens`. */
        InputTokensDetails: {
            /**
             * Format: int64
             * @description Written to the provider's prompt cache.
             * @example 512
             */
            cache_write_tokens?: number;
            /**
             * Format: int64
             * @description Read from the provider's prompt cache.
             * @example 1024
             */
            cached_tokens?: number;
        };
        /** @description The API key, without its secret. */
        KeyIdentity: {
            /** @description The addresses from which it may be used; null means all. */
            addresses: string[] | null;
            created_at: components["schemas"]["Moment"];
            expires_at: components["schemas"]["Moment"] | null;
            /** @example key_019b76da807b774b805000000000002a */
            id: string;
            /** @description The models that it may load; null means all. */
            models: string[] | null;
            /** @example production server */
            name: string;
            /**
             * @description The first 12 characters.
             * @example svc_sk_ABCDE
             */
            prefix: string;
            /**
             * @description `load`, `read`, `files`.
             * @example [
             *       "load",
             *       "read",
             *       "files"
             *     ]
             */
            rights: string[];
            spending_cap: components["schemas"]["SpendingCap"] | null;
        };
        /** @description What your receiver answered. `status` or `error` is required. */
        ListenerAnswer: {
            /**
             * @description The body of the response. Its first 1,024 bytes are kept.
             * @example ok
             */
            body?: string;
            /** @example dlv_019b76da807b774b805000000000002a */
            delivery_id: string;
            /**
             * @description Why there is no complete response. The attempt has failed, whatever the status.
             * @example connection refused
             */
            error?: string;
            /** @description Headers of the response. Only `location` is read: redirects are not followed. */
            headers?: {
                [key: string]: string;
            };
            /**
             * Format: int64
             * @description How long the receiver took.
             * @example 12
             */
            latency_ms?: number;
            /**
             * Format: int32
             * @description The HTTP status. 2xx acknowledges the callback.
             * @example 200
             */
            status?: number;
        };
        /** @description The data of an event `callback`: the POST that your receiver is to get. */
        ListenerCallback: {
            /** @description The body of the POST, to be sent byte for byte: its signature covers it. */
            body: string;
            /**
             * @description Names this attempt in your answer.
             * @example dlv_019b76da807b774b805000000000002a
             */
            delivery_id: string;
            /**
             * @description All headers of the POST, with lowercase names.
             * @example {
             *       "content-type": "application/json",
             *       "webhook-id": "crg_019b76da807b774b805000000000002a"
             *     }
             */
            headers: {
                [key: string]: string;
            };
            /**
             * Format: int32
             * @description The number of the attempt, from 1.
             * @example 1
             */
            number: number;
        };
        /** @description The data of the first event, `ready`. */
        ListenerReady: {
            /**
             * @description For the path of your answers.
             * @example lsn_019b76da807b774b805000000000002a
             */
            listener_id: string;
            /**
             * @description Signs the callbacks if your project does not. It stays the same for the same API key and
             *     name.
             * @example whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=
             */
            secret: string;
        };
        /** @description The acknowledgement: the cargo is stored durably. */
        Loaded: {
            /**
             * @description The id of this cargo in tracking and in its callback.
             * @example crg_019b76da807b774b805000000000002a
             */
            cargo_id: string;
            /**
             * @description For people.
             * @example Cargo loaded.
             */
            message: string;
            /** @example success */
            status: string;
            /** @description Fields that have no effect, or not the usual one. Absent if there are none. */
            warnings?: components["schemas"]["Warning"][];
        };
        /** @description One request for a model. */
        LoadRequest: {
            /**
             * Format: uri
             * @description Where the result is sent with POST. Without it, poll the tracking record.
             *
             *     An `http` or `https` URL with a host and without user name or password;
             *     in production, `https` only. Or `listen://NAME`: then the program that listens under this
             *     name with a key of your project gets the callback (`GET /listen`).
             * @example https://example.com/callbacks/longshore
             */
            callback_url?: string | null;
            /**
             * @description Your name for the cargo, unique in its group. The same `custom_id` with the same `params`,
             *     `callback_url` and `metadata` returns the first `cargo_id`, also after 24 hours and when the
             *     group is sealed. Without it, the position is the name.
             * @example row-7
             */
            custom_id?: string | null;
            /**
             * Format: date-time
             * @description The same as a time: 60 seconds to 24 hours after the load. Send only one of the two.
             * @example 2026-11-15T12:00:00Z
             */
            deadline_at?: string | null;
            /**
             * Format: int32
             * @description You need the answer this many seconds after the load. Longshore chooses the cheapest way
             *     that usually answers in time. Without a deadline, the target is 24 hours.
             * @example 7200
             */
            deadline_seconds?: number | null;
            /**
             * @description The group that the cargo becomes a part of.
             * @example grp_019b76da807b774b805000000000002a
             */
            group_id?: string | null;
            /** @description Your tags, at most 4,096 bytes of JSON. Tracking returns them as given. */
            metadata?: Record<string, unknown> | null;
            params: components["schemas"]["Params"];
            /**
             * Format: int64
             * @description The place of the cargo in the results of its group, unique there. Without it, the next one.
             * @example 7
             */
            position?: number | null;
        };
        /** @description One turn of the conversation. */
        Message: {
            content: components["schemas"]["Content"];
            /**
             * @description Who speaks: `user`, `assistant`, `system` or `developer`. Not every model takes the last
             *     two among its messages; a system prompt goes into `system`.
             * @example user
             */
            role: string;
        };
        /** @description A model. Every field is always present. */
        Model: {
            /**
             * @description What it reads besides text: `vision`, `documents`, `video`.
             * @example [
             *       "vision"
             *     ]
             */
            capabilities: string[];
            embedding: components["schemas"]["EmbeddingFeatures"] | null;
            features: components["schemas"]["ModelFeatures"] | null;
            /**
             * @description For `params.model`. Ids are case-sensitive.
             * @example svc-mock
             */
            id: string;
            kind: components["schemas"]["CargoKind"];
            limits: components["schemas"]["ModelLimits"];
            price: components["schemas"]["ModelPrice"] | null;
            /**
             * @description The day on which its provider stops serving it, if that is known.
             * @example 2027-01-14
             */
            retires_at: string | null;
            /**
             * @description The ways to it: `batch`, `flex`, `realtime`.
             * @example [
             *       "batch"
             *     ]
             */
            via: string[];
        };
        /** @description What a chat model can do, by whatever way the cargo goes. */
        ModelFeatures: {
            /**
             * @description `automatic`, or `marks`: `cache_control` is sent to the provider.
             * @example automatic
             */
            caching: string;
            /** @description `tool_choice` may force a call. */
            forced_tools: boolean;
            /**
             * Format: int32
             * @description More stop sequences than this are applied by Longshore.
             */
            max_stop_sequences: number;
            /** Format: int32 */
            max_tools: number;
            /**
             * Format: int32
             * @description A smaller `max_tokens` is raised to this.
             */
            min_output: number;
            /** @description The last message may be the assistant's. */
            prefill: boolean;
            /**
             * @description `pass`; or `drop` or `refuse` for `temperature`, `top_p` and `top_k`.
             * @example pass
             */
            sampling: string;
            seed: boolean;
            /** @description The schema of a tool with `strict` is enforced. */
            strict_tools: boolean;
            /**
             * @description `none`, `without_tools` or `with_tools`.
             * @example with_tools
             */
            structured_output: string;
            /** @description Messages may have the roles `system` and `developer`. */
            system_messages: boolean;
            thinking: components["schemas"]["ThinkingFeatures"];
            /** @description Results of tools may contain images and documents. */
            tool_result_files: boolean;
            /**
             * @description `none`, `always_parallel` (parallel calls cannot be turned off) or `parallel`.
             * @example parallel
             */
            tools: string;
            top_k: boolean;
        };
        /** @description Null means no limit that Longshore knows. */
        ModelLimits: {
            /**
             * Format: int64
             * @description The context window in tokens.
             * @example 128000
             */
            context: number | null;
            /**
             * Format: int32
             * @description The largest `max_tokens`.
             * @example 16384
             */
            max_output: number | null;
        };
        /** @description The models, sorted by id. */
        ModelList: {
            models: components["schemas"]["Model"][];
        };
        /**
         * @description Prices in whole numbers of 10^-`scale` of the currency, for `per_tokens` tokens. You pay the
         *     batch price, by whatever way the cargo goes.
         */
        ModelPrice: {
            batch: components["schemas"]["Rates"];
            /** @example USD */
            currency: string;
            /**
             * Format: int32
             * @example 1000000
             */
            per_tokens: number;
            realtime: components["schemas"]["Rates"] | null;
            /**
             * Format: int32
             * @example 9
             */
            scale: number;
        };
        /**
         * Format: date-time
         * @description ISO 8601, UTC, with a `Z`.
         * @example 2026-11-15T09:30:00.000000Z
         */
        Moment: string;
        /** @description The organization's tokens of this calendar month (UTC). */
        MonthlyTokens: {
            /**
             * Format: int64
             * @description Null means no limit.
             * @example 1000000000
             */
            monthly: number | null;
            /**
             * Format: int64
             * @description For cargo in flight.
             * @example 0
             */
            reserved: number;
            resets_at: components["schemas"]["Moment"];
            /**
             * Format: int64
             * @example 4200
             */
            used: number;
        };
        /** @description Both ends are included. */
        NumberRange: {
            /**
             * Format: int32
             * @example 32768
             */
            max: number;
            /**
             * Format: int32
             * @example 1024
             */
            min: number;
        };
        /** @description The organization of the project. */
        OrganizationIdentity: {
            /** @example org_019b76da807b774b805000000000002a */
            id: string;
            /** @example Example Ltd */
            name: string;
            /**
             * @description `free`, `starter`, `pro` or `enterprise`.
             * @example pro
             */
            plan: string;
        };
        /** @description The form of the answer, and how hard the model tries. */
        OutputConfig: {
            effort?: components["schemas"]["Effort"] | null;
            format?: components["schemas"]["OutputFormat"] | null;
        };
        /** @description The answer is JSON. */
        OutputFormat: {
            /** @example invoice */
            name?: string | null;
            /** @description Objects that do not say so allow no additional properties. */
            schema: Record<string, unknown>;
            /** @enum {string} */
            type: "json_schema";
        };
        /** @description Parts of `output_tokens`. */
        OutputTokensDetails: {
            /**
             * Format: int64
             * @example 256
             */
            thinking_tokens: number;
        };
        /** @description Chat with `messages`, or embedding with `input_text`: exactly one of the two. */
        Params: components["schemas"]["ChatParams"] | components["schemas"]["EmbeddingParams"];
        /** @description The project of the key. */
        ProjectIdentity: {
            /** @example prj_019b76da807b774b805000000000002a */
            id: string;
            /** @example orders */
            slug: string;
        };
        /** @description The price of each kind of token. */
        Rates: {
            /**
             * Format: int64
             * @description Input that the provider wrote to its cache for minutes.
             */
            cache_write: number;
            /**
             * Format: int64
             * @description The same for an hour.
             */
            cache_write_1h: number;
            /**
             * Format: int64
             * @description Input that the provider read from its cache.
             */
            cached_input: number;
            /**
             * Format: int64
             * @example 75000000
             */
            input: number;
            /**
             * Format: int64
             * @description With thoughts.
             * @example 300000000
             */
            output: number;
            /** @description Other prices for the whole request when its input is larger. */
            steps: components["schemas"]["RateStep"][];
        };
        /** @description The prices of a request with more input tokens than `above`. */
        RateStep: {
            /**
             * Format: int64
             * @example 200000
             */
            above: number;
            /** Format: int64 */
            cache_write: number;
            /** Format: int64 */
            cache_write_1h: number;
            /** Format: int64 */
            cached_input: number;
            /** Format: int64 */
            input: number;
            /** Format: int64 */
            output: number;
        };
        /** @description Whether this process should receive requests, and the state of its dependencies. */
        Ready: {
            dependencies: components["schemas"]["Dependency"][];
            /** @description Why this process should not receive requests, or what an operator must do. */
            detail?: string | null;
            status: components["schemas"]["ReadyStatus"];
        };
        /**
         * @description Degraded: some organizations, new keys or files are not served, or limits are not exact.
         * @enum {string}
         */
        ReadyStatus: "ok" | "degraded" | "unavailable";
        /** @description The answer to `POST /files/{file_id}/parts`. */
        RefreshedUpload: {
            /** @example file_019b76da807b774b805000000000002a */
            id: string;
            /** @enum {string} */
            status: "uploading" | "validating" | "ready" | "failed" | "expired";
            upload: components["schemas"]["Upload"];
        };
        /** @description Which parts need a new URL; all of them by default. */
        RefreshParts: {
            /**
             * @example [
             *       1,
             *       3
             *     ]
             */
            part_numbers?: number[] | null;
        };
        /** @description Why the request was refused. */
        Refusal: {
            detail: components["schemas"]["Detail"];
        };
        /** @description The item is not stored. */
        RefusedItem: {
            /** @description As in the error of a single load. */
            detail: components["schemas"]["Detail"];
            /**
             * @description The place of the item in the request, from 0.
             * @example 1
             */
            index: number;
            /**
             * Format: int64
             * @description Absent unless a retry after this time may succeed.
             * @example 1
             */
            retry_after_seconds?: number;
            /**
             * Format: int32
             * @example 422
             */
            status: number;
        };
        /** @description The acknowledgement of a resend. */
        Resend: {
            /** @example crg_019b76da807b774b805000000000002a */
            cargo_id: string;
            resend: components["schemas"]["ResendState"];
        };
        /**
         * @description What becomes of a resend.
         * @enum {string}
         */
        ResendState: "queued" | "already_due";
        /**
         * @description Sent when processing finishes, with success or failure.
         *
         *     It may be delivered more than once: deduplicate by `cargo_id`. If your project does not sign
         *     its callbacks, check that the `cargo_id` is one that you were given.
         */
        ResultCallback: {
            /** @example crg_019b76da807b774b805000000000002a */
            cargo_id: string;
            /**
             * @description The name that the load gave it in its group. Absent if the load named none.
             * @example row-7
             */
            custom_id?: string;
            /** @description Null on success. For people: the text may change. */
            error: string | null;
            /**
             * @description One of the codes for failures. A code keeps its meaning; new codes may be added. Absent on
             *     success, and if the cargo failed before codes existed.
             * @example request_rejected
             */
            error_code?: string;
            /**
             * @description The group of the load. Absent if the load named none.
             * @example grp_019b76da807b774b805000000000002a
             */
            group_id?: string;
            /**
             * @description The metadata of the load. Only if your project includes it in callbacks, and the load had
             *     some.
             */
            metadata?: Record<string, unknown> | null;
            response: components["schemas"]["Completion"] | null;
            success: boolean;
        };
        /** @description The way that the cargo takes to a provider, and why. */
        Route: {
            /**
             * @description A code. Absent if the model has one way only.
             * @example flex_for_deadline
             */
            reason?: string;
            /**
             * @description `batch`, `flex` or `realtime`. Once completed, the way by which the provider served it.
             * @example flex
             */
            via: string;
        };
        /** @description Seals a group: no new cargo is added from then on. */
        SealGroupRequest: {
            /**
             * Format: int64
             * @description How many cargo the group should have. If it has another number, it is not sealed.
             * @example 2000
             */
            total?: number | null;
        };
        /** @description A ready file of your project. */
        Source: {
            /** @example file_019b76da807b774b805000000000002a */
            file_id: string;
        };
        /** @description The monthly spending cap of the key, in whole numbers of 10^-`scale` of the currency. */
        SpendingCap: {
            /** @example USD */
            currency: string;
            /**
             * Format: int64
             * @description Set aside for its cargo in flight.
             * @example 0
             */
            held: number;
            /**
             * Format: int64
             * @example 2000000000
             */
            monthly: number;
            resets_at: components["schemas"]["Moment"];
            /**
             * Format: int32
             * @example 9
             */
            scale: number;
            /**
             * Format: int64
             * @description Charged for cargo that was loaded in this month.
             * @example 1250000
             */
            spent: number;
        };
        /** @description One step of the path: a key or an index. */
        Step: string | number;
        /** @description Why the model refused. */
        StopDetails: {
            category?: string;
            explanation?: string;
        };
        /**
         * @description Why the model stopped. Only a request with tools, `thinking` or `output_config` gets `tool_use`
         *     and `refusal`.
         * @enum {string}
         */
        StopReason: "end_turn" | "max_tokens" | "stop_sequence" | "tool_use" | "refusal";
        /** @description The system prompt: a text, or text blocks that can be cached. */
        System: string | components["schemas"]["SystemBlock"][];
        /** @description A paragraph of the system prompt. */
        SystemBlock: {
            cache_control?: components["schemas"]["CacheControl"] | null;
            text: string;
            /** @enum {string} */
            type: "text";
        };
        /**
         * @description Whether the model thinks before it answers. Thoughts count as output, and `max_tokens` bounds
         *     them too.
         */
        Thinking: {
            /** @enum {string} */
            type: "disabled";
        } | {
            display?: components["schemas"]["ThinkingDisplay"] | null;
            /** @enum {string} */
            type: "adaptive";
        } | {
            /**
             * Format: int32
             * @description Less than `max_tokens`.
             * @example 2048
             */
            budget_tokens: number;
            display?: components["schemas"]["ThinkingDisplay"] | null;
            /** @enum {string} */
            type: "enabled";
        };
        /**
         * @description Whether the answer contains readable thoughts.
         * @enum {string}
         */
        ThinkingDisplay: "summarized" | "omitted";
        /** @description How a model can think. */
        ThinkingFeatures: {
            budget_tokens: components["schemas"]["NumberRange"] | null;
            /**
             * @description What Longshore sends when you say nothing.
             * @example low
             */
            default_effort: string | null;
            /**
             * @description For `output_config.effort`.
             * @example [
             *       "low",
             *       "high"
             *     ]
             */
            efforts: string[];
            /** @description `display: summarized` is possible. */
            summaries: boolean;
            /**
             * @description The `thinking.type`s that it takes: `adaptive`, `enabled`, `disabled`. Empty: none.
             * @example [
             *       "adaptive",
             *       "disabled"
             *     ]
             */
            types: string[];
        };
        /** @description A function that you run. The model asks for it with a `tool_use` block. */
        Tool: {
            cache_control?: components["schemas"]["CacheControl"] | null;
            /**
             * @description What the tool does, and when the model should call it.
             * @example The weather of a city.
             */
            description?: string | null;
            /** @description JSON Schema of the arguments. Its `type` is `object`. */
            input_schema: Record<string, unknown>;
            /** @example get_weather */
            name: string;
            /** @description The provider enforces the schema. */
            strict?: boolean | null;
        };
        /** @description Whether and which tools the model calls. Without it, the model decides. */
        ToolChoice: {
            /** @description At most one call in an answer. */
            disable_parallel_tool_use?: boolean;
            /** @enum {string} */
            type: "auto";
        } | {
            /** @description Exactly one call. */
            disable_parallel_tool_use?: boolean;
            /** @enum {string} */
            type: "any";
        } | {
            /** @description Exactly one call. */
            disable_parallel_tool_use?: boolean;
            /** @example get_weather */
            name: string;
            /** @enum {string} */
            type: "tool";
        } | {
            /** @enum {string} */
            type: "none";
        };
        /** @description A part of what a tool returned. Not every model takes images and documents here. */
        ToolResultBlock: {
            cache_control?: components["schemas"]["CacheControl"] | null;
            text: string;
            /** @enum {string} */
            type: "text";
        } | {
            cache_control?: components["schemas"]["CacheControl"] | null;
            source: components["schemas"]["Source"];
            /** @enum {string} */
            type: "image";
        } | {
            cache_control?: components["schemas"]["CacheControl"] | null;
            source: components["schemas"]["Source"];
            /** @enum {string} */
            type: "document";
        };
        /** @description A text, or blocks of text, images and documents. */
        ToolResultContent: string | components["schemas"]["ToolResultBlock"][];
        /**
         * @description The record of one cargo. Every field up to `erased_at` is always present; unknown values are
         *     null.
         */
        Tracking: {
            /**
             * Format: int32
             * @description Counts from 1; higher when a provider lost the batch and the cargo went into another one.
             * @example 1
             */
            attempt: number;
            batched_at: components["schemas"]["Moment"] | null;
            callback: components["schemas"]["CallbackTracking"] | null;
            /** @description When you first asked to cancel it. Absent if you have not. */
            cancel_requested_at?: components["schemas"]["Moment"];
            /** @example crg_019b76da807b774b805000000000002a */
            cargo_id: string;
            completed_at: components["schemas"]["Moment"] | null;
            cost: components["schemas"]["Cost"];
            created_at: components["schemas"]["Moment"];
            /**
             * @description The name that the load gave it in its group. Absent if the load named none, and after
             *     `erased_at`.
             * @example row-7
             */
            custom_id?: string;
            /** @description A target: the deadline of the load, or 24 hours after it. */
            deadline_at: components["schemas"]["Moment"];
            erased_at: components["schemas"]["Moment"] | null;
            /** @description Why processing failed. For people: the text may change. */
            error: string | null;
            /**
             * @description One of the codes for failures. A code keeps its meaning; new codes may be added. Null unless
             *     processing failed, and if it failed before codes existed.
             * @example request_rejected
             */
            error_code: string | null;
            /**
             * @description The group of the load. Absent if the load named none.
             * @example grp_019b76da807b774b805000000000002a
             */
            group_id?: string;
            kind: components["schemas"]["CargoKind"];
            /** @description As given at load. */
            metadata: Record<string, unknown> | null;
            /** @example svc-mock */
            model: string;
            /**
             * Format: int64
             * @description Its position in its group. Absent if the load named no group.
             * @example 7
             */
            position?: number;
            processing_at: components["schemas"]["Moment"] | null;
            response: components["schemas"]["Completion"] | null;
            /** @description Absent unless the load has a deadline or goes by flex. */
            route?: components["schemas"]["Route"];
            status: components["schemas"]["CargoStatus"];
            /** @description Null until completed. A cargo whose processing failed is completed with `false`. */
            success: boolean | null;
            usage: components["schemas"]["Usage"] | null;
            waiting: components["schemas"]["Waiting"] | null;
            /** @description The warnings of the load. Absent if there are none. */
            warnings?: components["schemas"]["Warning"][];
        };
        /** @description One POST for files up to 8 MB, multipart for larger ones. */
        Upload: {
            expires_at: components["schemas"]["Moment"];
            /** @description Send them unchanged. */
            fields: {
                [key: string]: string;
            };
            /** @enum {string} */
            type: "post";
            /** Format: uri */
            url: string;
        } | {
            /**
             * @description The header that takes the base64 SHA-256 of the chunk.
             * @example x-object-checksum-sha256
             */
            checksum_header: string;
            expires_at: components["schemas"]["Moment"];
            /**
             * Format: int64
             * @description Every chunk but the last has this size.
             * @example 16777216
             */
            part_size_bytes: number;
            parts: components["schemas"]["UploadPart"][];
            /** @enum {string} */
            type: "multipart";
        };
        /** @description Where to upload one chunk. */
        UploadPart: {
            /**
             * Format: int32
             * @example 1
             */
            part_number: number;
            /** Format: uri */
            url: string;
        };
        /** @description The answer to `POST /files`. */
        UploadSession: {
            /** @description The project already has these bytes: use the id, there is nothing to upload. */
            deduplicated: boolean;
            /** @example file_019b76da807b774b805000000000002a */
            id: string;
            /** @enum {string} */
            status: "uploading" | "validating" | "ready" | "failed" | "expired";
            upload: components["schemas"]["Upload"] | null;
        };
        /**
         * @description Tokens read and written. The details are parts of the two counts, for a request with tools,
         *     `thinking`, `output_config` or `cache_control`, and absent if they are 0.
         */
        Usage: {
            /**
             * Format: int64
             * @example 6
             */
            input_tokens: number;
            input_tokens_details?: components["schemas"]["InputTokensDetails"];
            /**
             * Format: int64
             * @example 4
             */
            output_tokens: number;
            output_tokens_details?: components["schemas"]["OutputTokensDetails"];
        };
        /** @description What the cargo is waiting for. */
        Waiting: {
            /**
             * @description One of the codes for waiting. A code keeps its meaning; new codes may be added.
             * @example waiting_for_batch
             */
            code: string;
            expected_at: components["schemas"]["Moment"] | null;
            /**
             * @description For people: the text may change.
             * @example waiting to be gathered into a batch
             */
            reason: string;
            since: components["schemas"]["Moment"];
        };
        /** @description A field that was accepted and has no effect, or not the usual one. */
        Warning: {
            code: components["schemas"]["WarningCode"];
            /** @example params.stream */
            field: string;
            /**
             * @description For people: the text may change.
             * @example Longshore has no field of this name and ignores it.
             */
            message: string;
        };
        /**
         * @description Why the field has no effect, or not the usual one. New codes may be added.
         * @enum {string}
         */
        WarningCode: "unknown_field" | "ignored_by_model" | "emulated";
        /** @description The identity of the request. Every field is always present. */
        WhoAmI: {
            balance: components["schemas"]["Balance"];
            key: components["schemas"]["KeyIdentity"];
            limits: components["schemas"]["CallerLimits"];
            organization: components["schemas"]["OrganizationIdentity"];
            project: components["schemas"]["ProjectIdentity"];
            tokens: components["schemas"]["MonthlyTokens"];
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export type operations = Record<string, never>;
