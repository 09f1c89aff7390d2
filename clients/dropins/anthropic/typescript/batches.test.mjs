// Anthropic's own TypeScript client, unchanged, with another base URL.

import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";

import Anthropic from "@anthropic-ai/sdk";

const baseURL = `${process.env.LONGSHORE_URL}/anthropic`;
const client = new Anthropic({ baseURL, apiKey: process.env.LONGSHORE_API_KEY });

function request(customId, model = "svc-mock") {
    const messages = [{ role: "user", content: customId }];
    return { custom_id: customId, params: { model, max_tokens: 64, messages } };
}

async function waitUntilEnded(id) {
    for (let turn = 0; turn < 240; turn++) {
        const batch = await client.messages.batches.retrieve(id);
        if (batch.processing_status === "ended") return batch;
        await sleep(500);
    }
    throw new Error(`${id} did not end`);
}

test("fifty items with one failure", async () => {
    const requests = Array.from({ length: 49 }, (_, number) => request(`item-${number}`));
    requests.push(request("broken", "no-such-model"));
    const batch = await client.messages.batches.create({ requests });
    const ended = await waitUntilEnded(batch.id);
    assert.equal(ended.request_counts.succeeded, 49);
    assert.equal(ended.request_counts.errored, 1);
    assert.equal(new URL(ended.results_url).origin, new URL(baseURL).origin);
    const results = [];
    for await (const result of await client.messages.batches.results(batch.id)) results.push(result);
    assert.deepEqual(results.map((result) => result.custom_id), requests.map((item) => item.custom_id));
    assert.equal(results[0].result.type, "succeeded");
    assert.equal(results[49].result.type, "errored");
    assert.equal(results[49].result.error.error.type, "invalid_request_error");
});

test("errors are those of the client", async () => {
    const wrong = client.messages.batches.create({ requests: [request("not valid")] });
    await assert.rejects(wrong, Anthropic.BadRequestError);
    await assert.rejects(client.messages.batches.retrieve("msgbatch_0"), Anthropic.NotFoundError);
});
