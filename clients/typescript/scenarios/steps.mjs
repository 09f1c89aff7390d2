// The steps of scenarios. clients/scenarios/README.md describes them.

import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { CargoError, user } from "longshore";

const MAX_PARALLEL_LOADS = 8;
const STATUS_TIMEOUT_MS = 60_000;
const GROUP_TIMEOUT_SECONDS = 120;

/** Each method is a verb. It returns what `expect` can compare, with the step's result as `value`. */
export class Steps {
  named = new Map();

  constructor(direct, throughProxy, receiver) {
    this.direct = direct;
    this.throughProxy = throughProxy;
    this.receiver = receiver;
  }

  client(step) {
    return step.proxy ? this.throughProxy : this.direct;
  }

  params(step, row = 0) {
    const text = step.text.replaceAll("{row}", row);
    return { model: "svc-mock", max_tokens: 64, messages: [user(text)], ...step.params };
  }

  fields(step) {
    const { metadata, custom_id, group, callback } = step;
    return {
      ...(metadata && { metadata }),
      ...(custom_id && { custom_id }),
      ...(group && { group_id: this.named.get(group) }),
      ...(callback && { callback_url: this.receiver.url }),
    };
  }

  async load(step) {
    const { cargo } = this.client(step);
    const key = step.idempotency_key ? { idempotencyKey: step.idempotency_key } : {};
    const rows = Array.from({ length: step.repeat ?? 1 }, (_, row) => row);
    const loaded = [];
    const loadSome = async () => {
      for (let row = rows.shift(); row !== undefined; row = rows.shift()) {
        loaded.push(await cargo.load(this.params(step, row), { ...this.fields(step), ...key }));
      }
    };
    await Promise.all(Array.from({ length: MAX_PARALLEL_LOADS }, loadSome));
    return { value: loaded[0].cargo_id };
  }

  async bulk(step) {
    const keyOf = ({ idempotency_key }) => (idempotency_key ? { idempotency_key } : {});
    const items = step.items.map((item) => ({ params: this.params(item), ...this.fields(item), ...keyOf(item) }));
    const { accepted, refused, results } = await this.client(step).cargo.bulk(items);
    return { accepted, refused, statuses: results.map(({ status }) => status) };
  }

  async track(step) {
    const { wait = 0 } = step;
    const { status, success } = await this.client(step).cargo.track(this.named.get(step.cargo), { wait });
    return { status, success };
  }

  async await_status(step) {
    const deadline = Date.now() + STATUS_TIMEOUT_MS;
    for (;;) {
      const { status } = await this.track(step);
      if (step.status.includes(status)) return {};
      if (Date.now() > deadline) throw new Error(`the status is still ${status}`);
      await sleep(200);
    }
  }

  run(step) {
    const { idempotency_key, metadata } = step;
    const options = { ...(idempotency_key && { idempotencyKey: idempotency_key }), ...(metadata && { metadata }) };
    return this.answer(this.client(step).cargo.run(this.params(step), { ...options, timeout: GROUP_TIMEOUT_SECONDS }));
  }

  result(step) {
    const cargoId = this.named.get(step.cargo);
    return this.answer(this.client(step).cargo.result(cargoId, { timeout: GROUP_TIMEOUT_SECONDS }));
  }

  async answer(answer) {
    try {
      return { text: (await answer).text };
    } catch (error) {
      if (error instanceof CargoError) return { error: error.error, error_code: error.code };
      throw error;
    }
  }

  async cancel(step) {
    const { cancel } = await this.client(step).cargo.cancel(this.named.get(step.cargo));
    return { cancel };
  }

  async upload(step) {
    const body = step.text === undefined ? Buffer.from(step.base64, "base64") : Buffer.from(step.text);
    const bytes = Buffer.concat([body, randomBytes(step.random_bytes ?? 0)]);
    const { filename, media_type } = step;
    const { id, status } = await this.client(step).files.upload(bytes, { filename, media_type });
    return { value: id, file_status: status };
  }

  async create_group(step) {
    const { group_id, existing } = await this.client(step).groups.create(step.name);
    return { value: group_id, existing };
  }

  async seal_group(step) {
    const total = step.total === undefined ? {} : { total: step.total };
    await this.client(step).groups.seal(this.named.get(step.group), total);
    return {};
  }

  async await_group(step) {
    const deadline = Date.now() + 1000 * GROUP_TIMEOUT_SECONDS;
    for (;;) {
      const group = await this.client(step).groups.get(this.named.get(step.group), { wait: 20 });
      if (group.completed_at !== null) return { counts: group.counts };
      if (Date.now() > deadline) throw new Error(`the group is still ${group.status}`);
    }
  }

  async count_cargo(step) {
    const ids = new Set();
    const query = { group_id: this.named.get(step.group) };
    for await (const { cargo_id } of this.client(step).cargo.list(query, { pageSize: 200 })) ids.add(cargo_id);
    return { cargo: ids.size };
  }

  async map(step) {
    const client = this.client(step);
    const rows = Array.from({ length: step.rows }, (_, row) => row);
    const texts = [];
    const map = client.cargo.map(rows, (row) => this.params(step, row), { name: step.name });
    for await (const done of map) texts.push(done.text);
    const { group_id } = await client.groups.create(step.name);
    return { value: group_id, texts };
  }

  async await_callback(step) {
    const { success, error_code } = await this.receiver.wait(this.named.get(step.cargo));
    return { success, error_code };
  }
}
