// OpenAI's own TypeScript client, unchanged, with another base URL.

import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";

import OpenAI, { toFile } from "openai";

const baseURL = `${process.env.LONGSHORE_URL}/openai/v1`;
const client = new OpenAI({ baseURL, apiKey: process.env.LONGSHORE_API_KEY });
const endpoint = "/v1/chat/completions";
const ended = new Set(["completed", "failed", "expired", "cancelled"]);

function line(customId, model = "svc-mock") {
    const messages = [{ role: "user", content: customId }];
    return { custom_id: customId, method: "POST", url: endpoint, body: { model, max_tokens: 64, messages } };
}

async function create(lines) {
    const content = lines.map((item) => JSON.stringify(item)).join("\n");
    const file = await client.files.create({ file: await toFile(Buffer.from(content), "in.jsonl"), purpose: "batch" });
    return client.batches.create({ input_file_id: file.id, endpoint, completion_window: "24h" });
}

async function waitUntilEnded(id) {
    for (let turn = 0; turn < 240; turn++) {
        const batch = await client.batches.retrieve(id);
        if (ended.has(batch.status)) return batch;
        await sleep(500);
    }
    throw new Error(`${id} did not end`);
}

async function readLines(id) {
    const content = await client.files.content(id);
    const text = await content.text();
    return text.trimEnd().split("\n").map((item) => JSON.parse(item));
}

test("fifty requests with one failure", async () => {
    const lines = Array.from({ length: 49 }, (_, number) => line(`item-${number}`));
    lines.push(line("broken", "no-such-model"));
    const batch = await create(lines);
    assert.equal(batch.status, "validating");
    const done = await waitUntilEnded(batch.id);
    assert.equal(done.status, "completed");
    assert.deepEqual(done.request_counts, { total: 50, completed: 49, failed: 1 });
    const output = await readLines(done.output_file_id);
    assert.deepEqual(output.map((item) => item.custom_id), lines.slice(0, 49).map((item) => item.custom_id));
    assert.equal(output[0].response.body.object, "chat.completion");
    assert.equal(output[0].response.body.choices[0].finish_reason, "stop");
    const errors = await readLines(done.error_file_id);
    assert.deepEqual(errors.map((item) => item.custom_id), ["broken"]);
    assert.equal(errors[0].response.status_code, 400);
});

test("lists have pages", async () => {
    const made = [];
    for (let turn = 0; turn < 3; turn++) made.push((await create([line("a")])).id);
    const seen = [];
    for await (const batch of client.batches.list({ limit: 1 })) {
        seen.push(batch.id);
        if (seen.length === 3) break;
    }
    assert.deepEqual(seen, made.toReversed());
});

test("errors are those of the client", async () => {
    const wrong = client.files.create({ file: await toFile(Buffer.from("{}"), "a.jsonl"), purpose: "vision" });
    await assert.rejects(wrong, OpenAI.BadRequestError);
    await assert.rejects(client.batches.retrieve("batch_0"), OpenAI.NotFoundError);
});
