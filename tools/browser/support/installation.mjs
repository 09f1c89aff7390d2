// A separate installation for a test: databases, a bucket, longshored and a callback receiver.
//
// `./dev browser` starts PostgreSQL, Redis, the object store and the scanner once for all
// installations; LONGSHORE_BROWSER_… has their addresses.

import { execFile, spawn } from "node:child_process";
import { randomBytes, randomInt } from "node:crypto";
import { once } from "node:events";
import { closeSync, mkdirSync, openSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import net from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";

const run = promisify(execFile);

const requiredVariable = (name) => {
  const value = process.env[`LONGSHORE_BROWSER_${name}`];
  if (!value) throw new Error(`LONGSHORE_BROWSER_${name} is not set: run this through ./dev`);
  return value;
};

/** The folder for logs and screenshots. */
export const folder = () => requiredVariable("FOLDER");

/** The root of the checkout, from which every test runs. */
const root = process.cwd();

export class Installation {
  constructor(name) {
    this.name = `${name.replace(/[^a-z0-9]+/g, "_")}_${randomBytes(3).toString("hex")}`;
    this.settings = {};
    this.children = [];
  }

  /**
   * Starts an installation.
   * `files`: with a bucket and the scanner. `demo`: with the catalogue of `./dev demo`.
   * `singleSignOn`: with an OpenID Connect provider that signs with this algorithm.
   * `settings`: more settings of longshored.
   */
  static async start(name, options = {}) {
    const installation = new Installation(name);
    try {
      await installation.startServers(options);
    } catch (failure) {
      await installation.stop();
      throw failure;
    }
    return installation;
  }

  async startServers({ files = false, demo = false, singleSignOn, settings = {} }) {
    const [web, metrics] = await freePorts(2);
    this.base = `http://127.0.0.1:${web}`;
    const database = (kind) => `${requiredVariable("POSTGRES")}/${this.name}_${kind}`;
    const names = ["control", "north", "south"];
    for (const kind of names) await this.sql("postgres", `create database ${this.name}_${kind}`);
    this.settings = {
      SVC_CONTROL_DATABASE_URL: database("control"),
      SVC_SHARD_DATABASE_URLS: `north=${database("north")},south=${database("south")}`,
      SVC_DATABASE_CONNECTIONS: "12",
      SVC_REDIS_URL: requiredVariable("REDIS"),
      SVC_LISTEN: `127.0.0.1:${web}`,
      SVC_METRICS_LISTEN: `127.0.0.1:${metrics}`,
      SVC_MODELS_FILE: join(root, demo ? "tools/demo/models.toml" : "scripts/up-models.toml"),
      SVC_MOCK_DELAY_SECONDS: "1",
      SVC_CALLBACK_RETRY_DELAYS: "1",
      SVC_CALLBACK_TIMEOUT_SECONDS: "3",
      SVC_CALLBACK_ALLOW_CIDRS: "127.0.0.0/16",
      SVC_ENVIRONMENT: "development",
      SVC_LOG_FORMAT: "text",
      ...(demo ? demoSettings() : {}),
      ...(files ? await this.bucket() : {}),
      ...(singleSignOn ? await this.startIdentityServer(singleSignOn) : {}),
      ...settings,
    };
    await this.longshored("migrate");
    this.receiver = await Receiver.start();
    this.log = join(folder(), `${this.name}.log`);
    await this.serve();
  }

  /** The origins that a browser may contact. */
  origins() {
    const store = this.settings.SVC_OBJECTS_PUBLIC_URL;
    const identityServer = this.identityServer ? [this.identityServer.issuer] : [];
    return [this.base, ...(store ? [new URL(store).origin] : []), ...identityServer];
  }

  async startIdentityServer(algorithm) {
    const { IdentityServer } = await import("./identity-server.mjs");
    this.identityServer = await IdentityServer.start(this.base, algorithm);
    return { SVC_PUBLIC_URL: this.base, ...this.identityServer.settings() };
  }

  async serve() {
    mkdirSync(folder(), { recursive: true });
    const log = openSync(this.log, "a");
    const child = spawn(requiredVariable("LONGSHORED"), ["all"], { env: this.environment(), stdio: ["ignore", log, log] });
    closeSync(log);
    this.children.push(child);
    await waitFor("longshored to be ready", async () => {
      if (child.exitCode !== null) throw new Error(`longshored ended:\n${readFileSync(this.log, "utf8").slice(-2000)}`);
      const answer = await fetch(`${this.base}/ready`).catch(() => null);
      return answer?.ok && (await answer.json()).status === "ok";
    });
  }

  environment() {
    const { PATH, HOME, LANG } = process.env;
    return { PATH, HOME, LANG, ...this.settings };
  }

  async longshored(...words) {
    const { stdout } = await run(requiredVariable("LONGSHORED"), words, { env: this.environment(), maxBuffer: 1 << 26 });
    return stdout;
  }

  async admin(...words) {
    return JSON.parse(await this.longshored("admin", ...words, "--json"));
  }

  /** Returns rows of a database, each an array of strings: sql("north", "select …"). */
  async sql(kind, text) {
    const name = kind === "postgres" ? kind : `${this.name}_${kind}`;
    const options = ["--no-psqlrc", "--quiet", "--tuples-only", "--no-align", "--field-separator=\t"];
    const target = `--dbname=${requiredVariable("POSTGRES")}/${name}`;
    const { stdout } = await run("psql", [...options, "--set=ON_ERROR_STOP=1", target, `--command=${text}`]);
    return stdout.split("\n").filter(Boolean).map((line) => line.split("\t"));
  }

  /** Writes the rows of `./dev demo`, optionally with files. */
  async demo(cargo = 3000, { project = "", files = false } = {}) {
    const script = `set -euo pipefail; source scripts/common.sh; source scripts/demo.sh; demo_rows ${cargo} '${project}'`;
    const { stdout } = await run("bash", ["-c", script], { env: this.environment(), maxBuffer: 1 << 26 });
    this.keys = new Map(stdout.trim().split("\n").map((line) => line.split(" ")));
    if (files) {
      const child = run("python3", ["tools/demo/files.py", this.base]);
      child.child.stdin.end(stdout);
      await child;
    }
  }

  /** The setup link of this installation, always the same. */
  async setupLink() {
    this.setup ??= (await this.admin("person", "setup")).link;
    return this.setup;
  }

  /** Calls the API as an application does. */
  async api(key, method, path, body) {
    const headers = { "X-API-Key": key, "Content-Type": "application/json" };
    const answer = await fetch(this.base + path, { method, headers, body: body && JSON.stringify(body) });
    return { status: answer.status, body: await answer.json().catch(() => null) };
  }

  /** Loads a cargo for the free model and returns its id. */
  async load(key, text, more = {}) {
    const params = { model: "svc-mock", max_tokens: 64, messages: [{ role: "user", content: text }] };
    const { status, body } = await this.api(key, "POST", "/cargo/load", { params, ...more });
    if (status !== 202) throw new Error(`a load was answered with ${status}: ${JSON.stringify(body)}`);
    return body.cargo_id;
  }

  /** Creates a group and returns its id. */
  async createGroup(key, name) {
    const { status, body } = await this.api(key, "POST", "/groups", { name });
    if (status !== 201) throw new Error(`a group was answered with ${status}: ${JSON.stringify(body)}`);
    return body.group_id;
  }

  async bucket() {
    const store = new URL(requiredVariable("STORE"));
    const bucket = this.name.replaceAll("_", "-");
    const whole = new URL(store);
    whole.pathname = `/${bucket}`;
    await run("python3", ["scripts/objects.py", whole.href]);
    return {
      SVC_OBJECTS_URL: `http://127.0.0.1:${store.port}`,
      SVC_OBJECTS_PUBLIC_URL: `http://localhost:${store.port}`,
      SVC_OBJECTS_BUCKET: bucket,
      SVC_OBJECTS_ACCESS_KEY: store.username,
      SVC_OBJECTS_SECRET_KEY: store.password,
      SVC_OBJECTS_CORS_ORIGINS: this.base,
      SVC_SCANNER: requiredVariable("SCANNER"),
    };
  }

  async stop() {
    this.receiver?.stop();
    this.identityServer?.stop();
    for (const child of this.children) {
      if (child.exitCode !== null) continue;
      child.kill("SIGTERM");
      const killer = setTimeout(() => child.kill("SIGKILL"), 15_000);
      await once(child, "exit");
      clearTimeout(killer);
    }
  }
}

/** A callback receiver: stores every callback, and answers with the status in `answer`. */
export class Receiver {
  static async start() {
    const receiver = new Receiver();
    receiver.answer = 200;
    receiver.received = [];
    receiver.server = createServer((request, response) => {
      const parts = [];
      request.on("data", (part) => parts.push(part));
      request.on("end", () => {
        receiver.received.push({ path: request.url, body: JSON.parse(Buffer.concat(parts).toString() || "null") });
        response.writeHead(receiver.answer, { "Content-Type": "text/plain" });
        response.end(receiver.answer < 300 ? "accepted" : "the receiver failed");
      });
    });
    receiver.server.listen(0, "127.0.0.1");
    await once(receiver.server, "listening");
    receiver.url = `http://127.0.0.1:${receiver.server.address().port}/answers`;
    return receiver;
  }

  stop() {
    this.server.close();
    this.server.closeAllConnections();
  }
}

function demoSettings() {
  return {
    SVC_PROVIDERS_FILE: join(root, "tools/demo/providers.toml"),
    LONGSHORE_DEMO_CREDENTIAL: "none",
    LONGSHORE_DEMO_NORTH: "north",
    LONGSHORE_DEMO_SOUTH: "south",
  };
}

// A slow machine takes longer than an idle one, and a wait ends as soon as its check is true.
const TIMEOUT_SECONDS = 120;

/** Repeats a check until it is true, and returns its value. */
export async function waitFor(what, check) {
  const end = Date.now() + TIMEOUT_SECONDS * 1000;
  for (;;) {
    const value = await check();
    if (value) return value;
    if (Date.now() > end) throw new Error(`waited ${TIMEOUT_SECONDS} s for ${what}`);
    await sleep(50);
  }
}

/** Free ports outside the range from which the kernel takes the ports of connections. */
async function freePorts(count) {
  const below = Number(readFileSync("/proc/sys/net/ipv4/ip_local_port_range", "utf8").split(/\s/)[0]);
  const held = new Map();
  while (held.size < count) {
    const port = randomInt(12_000, Math.max(below, 13_000));
    const server = net.createServer().listen(port, "127.0.0.1");
    if (await once(server, "listening").catch(() => null)) held.set(port, server);
  }
  await Promise.all([...held.values()].map((server) => new Promise((done) => server.close(done))));
  return [...held.keys()];
}
