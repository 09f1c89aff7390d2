// Uploads from the browser straight to the store: hashed in a worker, sent in parts, tried again, gone on with after a reload.
"use strict";
(() => {
const card = document.querySelector("[data-upload]");
if (!card) return;
const base = card.dataset.upload;
const tray = card.querySelector(".tray");
const input = card.querySelector("input[type=file]");
const PART = 16 << 20, SENDERS = 4, FILES = 3, TRIES = 8;
const TYPES = {
  jpg: "image/jpeg", jpeg: "image/jpeg", png: "image/png", gif: "image/gif", webp: "image/webp",
  pdf: "application/pdf", txt: "text/plain", csv: "text/csv", md: "text/markdown", markdown: "text/markdown",
  mp4: "video/mp4", m4v: "video/mp4", mov: "video/quicktime", webm: "video/webm", mkv: "video/x-matroska",
};
const LABEL = "upload ";
const sleep = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));
const size = (bytes) => bytes < 1024 ? `${bytes} bytes` : bytes < 1048576 ? `${(bytes / 1024).toFixed(0)} KB` : `${(bytes / 1048576).toFixed(1)} MB`;

// A no that trying again does not change; its text is for people.
class Refusal extends Error {}
// Somebody pressed Pause.
class Paused extends Error {}

// So many at once, in the order in which they ask.
function gate(room) {
  const waiting = [];
  return async (work) => {
    if (room > 0) room -= 1; else await new Promise((go) => waiting.push(go));
    try { return await work(); } finally { const next = waiting.shift(); if (next) next(); else room += 1; }
  };
}
const sending = gate(SENDERS), files = gate(FILES);

// Hashing, one file after another.
let worker = null;
const hashing = new Map();
function hash(file, told) {
  if (!worker) {
    worker = new Worker(card.dataset.worker);
    worker.onmessage = ({ data }) => {
      const one = hashing.get(data.number);
      if (data.done !== undefined) return one.told(data.done);
      hashing.delete(data.number);
      if (data.failure) one.no(new Refusal(`The file cannot be read: ${data.failure}`)); else one.yes(data);
    };
  }
  return new Promise((yes, no) => {
    const number = Math.random();
    hashing.set(number, { yes, no, told });
    worker.postMessage({ number, file, part: PART });
  });
}

// The API, through our own server: its JSON, or its refusal.
async function ask(path, body) {
  const asked = { credentials: "same-origin", headers: { "x-form-seal": card.dataset.seal } };
  if (body !== undefined) {
    Object.assign(asked, { method: "POST", body: JSON.stringify(body) });
    asked.headers["content-type"] = "application/json";
  }
  const answer = await fetch(`${base}/api/files${path}`, asked).catch(() => { throw new Error("The server cannot be reached."); });
  const said = await answer.json().catch(() => null);
  if (answer.ok && said) return said;
  if (answer.status === 401 || answer.redirected) throw new Refusal("You are signed out. Sign in in another tab, then press Resume.");
  if (answer.status >= 500 || answer.status === 429) throw new Error(said?.message || "The server does not answer.");
  if (!said) throw new Refusal("This page is too old. Reload it and choose the file again; what was sent is kept.");
  const refusal = new Refusal(said.message || said.detail || "The server refused.");
  refusal.code = said.error;
  throw refusal;
}

// One request to the store; fetch cannot say how far it is.
function send(upload, method, url, headers, body, told) {
  return new Promise((yes, no) => {
    const request = new XMLHttpRequest();
    const over = (result) => { upload.requests.delete(request); result(); };
    upload.requests.add(request);
    request.open(method, url);
    for (const [name, value] of Object.entries(headers)) request.setRequestHeader(name, value);
    request.upload.onprogress = (event) => told(event.loaded);
    request.onload = () => over(() => yes(request));
    request.onerror = () => over(() => no(new Error("The connection was cut.")));
    request.onabort = () => over(() => no(new Paused()));
    request.timeout = 10 * 60 * 1000;
    request.ontimeout = () => over(() => no(new Error("The store took too long.")));
    request.send(body);
  });
}

class Upload {
  constructor(file) {
    this.file = file;
    this.requests = new Set();
    this.sent = new Map();
    this.flying = new Map();
    this.is_paused = false;
    this.draw();
  }

  // What is remembered over a reload; the bytes are not, so the file is chosen again.
  get key() { return `${LABEL}${base} ${this.file.name} ${this.file.size} ${this.file.lastModified} ${this.sha256}`; }
  recall() { try { return JSON.parse(localStorage.getItem(this.key)); } catch { return null; } }
  remember() {
    const kept = { name: this.file.name, at: Date.now(), id: this.id, sent: [...this.sent] };
    try { localStorage.setItem(this.key, JSON.stringify(kept)); } catch { /* Then a reload begins anew. */ }
  }
  forget() { try { localStorage.removeItem(this.key); } catch { /* Nothing was kept. */ } }

  async run() {
    try {
      this.say("busy", "waits for its turn");
      await files(() => this.go());
    } catch (failure) {
      if (failure instanceof Paused) return this.say("warm", "paused", true);
      if (failure instanceof Refusal && failure.is_final) { this.forget(); return this.say("bad", failure.message, false, true); }
      this.say("bad", failure.message, true);
    }
  }

  async go() {
    this.is_paused = false;
    const type = TYPES[this.file.name.split(".").pop().toLowerCase()] || this.file.type;
    this.check(type);
    if (!this.sha256) {
      this.say("busy", "hashing");
      const found = await hash(this.file, (done) => this.show("hashing", done));
      Object.assign(this, { sha256: found.sha256, sums: found.parts });
    }
    this.rest();
    if (!await this.reopen()) await this.open(type);
    if (this.state === "ready") return;
    if (this.state !== "validating") {
      if (this.grant.type === "post") await this.post(); else await this.put();
      await this.complete();
    }
    await this.watch();
  }

  check(type) {
    const kind = type.startsWith("image/") ? "image" : type.startsWith("video/") ? "video" : "document";
    const most = Number(card.dataset[`most${kind[0].toUpperCase()}${kind.slice(1)}`]);
    if (!Object.values(TYPES).includes(type)) throw this.end("Files are JPEG, PNG, GIF, WebP, PDF, text, CSV, Markdown, MP4, QuickTime, WebM or Matroska.");
    if (this.file.size === 0) throw this.end("The file is empty.");
    if (this.file.size > most) throw this.end(`It has ${size(this.file.size)}; ${kind === "image" ? "an image" : `a ${kind}`} has at most ${size(most)}.`);
  }

  end(text) { const refusal = new Refusal(text); refusal.is_final = true; return refusal; }

  // Between any two steps.
  rest() { if (this.is_paused) throw new Paused(); }

  // Something of ours or of an earlier visit that is still open.
  async reopen() {
    const kept = this.id ? null : this.recall();
    const id = this.id || kept?.id;
    if (!id) return false;
    let record;
    try { record = await ask(`/${id}`); } catch (failure) {
      if (!(failure instanceof Refusal) || failure.code !== "file_not_found") throw failure;
      this.forget();
      return false;
    }
    if (["failed", "expired"].includes(record.status)) { this.forget(); this.sent.clear(); this.id = null; return false; }
    this.id = id;
    if (kept) this.sent = new Map(kept.sent);
    this.state = record.status;
    if (record.status === "ready") { this.settle(record); return true; }
    if (record.status === "uploading") this.grant = (await this.tried(() => ask(`/${id}/parts`, {}))).upload;
    if (kept && this.sent.size) this.say("busy", `goes on: ${this.sent.size} of ${this.sums.length} parts were sent before`);
    return true;
  }

  async open(type) {
    this.say("busy", "asking where to");
    const wanted = { filename: this.file.name.slice(0, 512), media_type: type, size_bytes: this.file.size, sha256: this.sha256 };
    if (this.file.size > 8 << 20) wanted.part_checksums = this.sums;
    const session = await this.tried(() => ask("", wanted));
    this.id = session.id;
    if (session.deduplicated) { this.state = "ready"; return this.settle({ status: "ready" }, "already there: the project has these bytes, nothing was sent"); }
    this.state = "uploading";
    this.grant = session.upload;
    this.remember();
  }

  // Small files go whole.
  async post() {
    await sending(() => this.again(1, async () => {
      const form = new FormData();
      for (const [name, value] of Object.entries(this.grant.fields)) form.append(name, value);
      form.append("file", this.file);
      const answer = await send(this, "POST", this.grant.url, {}, form, (done) => this.fly(1, Math.min(done, this.file.size)));
      // It takes one only: a second that it refuses followed a first whose answer was lost.
      if (answer.status >= 300 && answer.status !== 409 && answer.status !== 412) throw new Error(`The store answers ${answer.status}.`);
      this.sent.set(1, "");
    }));
  }

  async put() {
    this.say("busy", "sending");
    const missing = this.sums.map((_, place) => place + 1).filter((number) => !this.sent.has(number));
    const results = await Promise.allSettled(missing.map((number) => sending(() => this.again(number, () => this.part(number)))));
    const failed = results.find((result) => result.status === "rejected");
    if (failed) throw failed.reason;
  }

  async part(number) {
    const url = this.grant.parts.find((part) => part.part_number === number)?.url;
    if (!url) throw new Error("A part has no address yet.");
    const bytes = this.file.slice((number - 1) * PART, Math.min(number * PART, this.file.size));
    const headers = { [this.grant.checksum_header]: this.sums[number - 1] };
    const answer = await send(this, "PUT", url, headers, bytes, (done) => this.fly(number, Math.min(done, bytes.size)));
    if (answer.status >= 300) throw new Error(`The store answers ${answer.status}.`);
    const tag = answer.getResponseHeader("ETag");
    if (!tag) throw this.end("The store does not let this page see the ETag: its CORS rules must expose it. `longshored doctor` says more.");
    this.sent.set(number, tag);
    this.remember();
  }

  // A part is tried again, later each time, with a new grant: the old one may have run out.
  async again(number, work) {
    for (let tries = 1; ; tries++) {
      this.rest();
      try {
        if (tries > 1 || Date.parse(this.grant.expires_at) < Date.now() + 5000) await this.refresh(number);
        await work();
        this.fly(number, null);
        if (this.sums.length > 1) this.say("busy", "sending");
        return;
      } catch (failure) {
        this.fly(number, null);
        if (failure instanceof Paused || failure instanceof Refusal) throw failure;
        if (tries >= TRIES) throw new Error(`${failure.message} What was sent is kept: press Resume when the connection is back.`);
        this.say("warm", `${failure.message} Trying again (${tries} of ${TRIES - 1}); what was sent is kept.`);
        await this.nap(tries);
      }
    }
  }

  async refresh(number) {
    const { upload } = await ask(`/${this.id}/parts`, this.grant.type === "post" ? {} : { part_numbers: [number] });
    if (upload.type === "post") { this.grant = upload; return; }
    const others = this.grant.parts.filter((part) => part.part_number !== number);
    this.grant = { ...this.grant, parts: [...others, ...upload.parts] };
  }

  // Until it is time, or the connection is back, or somebody pauses.
  async nap(tries) {
    const until = Date.now() + Math.min(500 * 2 ** tries, 15000) * (0.75 + Math.random() / 2);
    let back = false;
    const note = () => { back = true; };
    addEventListener("online", note, { once: true });
    while (Date.now() < until && !back && !this.is_paused) await sleep(100);
    removeEventListener("online", note);
  }

  // Our own server is asked again, too, when it does not answer.
  async tried(work) {
    for (let tries = 1; ; tries++) {
      this.rest();
      try { return await work(); } catch (failure) {
        if (failure instanceof Refusal || tries >= TRIES) throw failure;
        this.say("warm", `${failure.message} Trying again.`);
        await this.nap(tries);
      }
    }
  }

  async complete() {
    this.rest();
    this.say("busy", "sent; the service looks at it");
    const parts = this.sums.map((sum, place) => ({ part_number: place + 1, etag: this.sent.get(place + 1), checksum_sha256: sum }));
    const body = this.grant.type === "post" ? {} : { parts };
    try {
      await this.tried(() => ask(`/${this.id}/complete`, body));
    } catch (failure) {
      // Completed before, or found wanting: the record says which.
      if (!(failure instanceof Refusal)) throw failure;
      this.said = failure.message;
    }
  }

  async watch() {
    for (let looks = 0; ; looks++) {
      this.rest();
      const record = await this.tried(() => ask(`/${this.id}`));
      if (["ready", "failed", "expired"].includes(record.status)) return this.settle(record);
      if (record.status === "uploading") throw new Error(this.said || "The upload is not complete.");
      this.say("busy", "validating: hashed, recognised, read and scanned");
      await sleep(Math.min(500 + looks * 250, 3000));
    }
  }

  settle(record, text) {
    this.forget();
    this.state = record.status;
    if (record.status !== "ready") throw this.end(this.said || `It is ${record.status}${record.failure_reason ? `: ${record.failure_reason.replaceAll("_", " ")}` : ""}.`);
    this.show("sent", this.file.size);
    this.say("good", text || "ready", false, true);
  }

  pause() {
    this.is_paused = true;
    for (const request of [...this.requests]) request.abort();
    this.say("warm", "pausing");
  }

  // What is seen of it.
  draw() {
    this.row = document.createElement("li");
    const make = (name, text = "", kind = "") => {
      const made = document.createElement(name);
      made.textContent = text;
      if (kind) made.className = kind;
      return made;
    };
    this.name = make("a", this.file.name, "name");
    this.far = make("span", size(this.file.size), "quiet far");
    this.chip = make("span", "", "said");
    this.chip.setAttribute("role", "status");
    this.bar = make("progress");
    this.bar.max = this.file.size || 1;
    this.bar.value = 0;
    this.bar.setAttribute("aria-label", `How much of ${this.file.name} is sent`);
    this.grid = make("ol", "", "plain parts");
    this.grid.setAttribute("aria-label", "Parts");
    this.button = make("button", "Pause", "small");
    this.button.type = "button";
    this.button.onclick = () => (this.button.textContent === "Pause" ? this.pause() : this.run());
    this.row.append(this.name, this.far, this.button, this.bar, this.grid, this.chip);
    tray.prepend(this.row);
  }

  say(kind, text, may_resume = false, is_over = false) {
    this.is_over = is_over;
    this.row.className = kind;
    if (this.chip.textContent !== text) this.chip.textContent = text;
    this.button.hidden = is_over;
    this.button.textContent = may_resume ? "Resume" : "Pause";
    this.is_busy = !may_resume && !is_over;
    if (this.id) this.name.href = `${base}/files/${this.id}`;
    this.grid.hidden = is_over;
    this.paint();
  }

  fly(number, bytes) {
    if (bytes === null) this.flying.delete(number); else this.flying.set(number, bytes);
    this.paint();
  }

  paint() {
    if (!this.sums) return;
    const long = (number) => Math.min(PART, this.file.size - (number - 1) * PART);
    const there = [...this.sent.keys()].reduce((sum, number) => sum + long(number), 0);
    const flying = [...this.flying].reduce((sum, [number, bytes]) => sum + (this.sent.has(number) ? 0 : bytes), 0);
    if (this.state !== "ready") this.show("sent", Math.min(there + flying, this.file.size));
    if (this.sums.length < 2) return;
    while (this.grid.children.length < this.sums.length) {
      const part = document.createElement("li");
      part.title = `part ${this.grid.children.length + 1}`;
      this.grid.append(part);
    }
    [...this.grid.children].forEach((part, place) => {
      const kind = this.sent.has(place + 1) ? "done" : this.flying.has(place + 1) ? "flying" : "";
      if (part.className !== kind) part.className = kind;
    });
  }

  show(what, bytes) {
    this.bar.value = bytes;
    const text = bytes >= this.file.size && what === "sent" ? size(this.file.size) : `${what} ${size(bytes)} of ${size(this.file.size)}`;
    if (this.far.textContent !== text) this.far.textContent = text;
  }
}

const uploads = new Set();
function take(chosen) {
  for (const file of chosen) {
    const upload = new Upload(file);
    uploads.add(upload);
    upload.run();
  }
  offer();
}
input.addEventListener("change", () => { take([...input.files]); input.value = ""; });
for (const name of ["dragenter", "dragover"]) card.addEventListener(name, (event) => { event.preventDefault(); card.classList.add("over"); });
card.addEventListener("dragleave", (event) => { if (!card.contains(event.relatedTarget)) card.classList.remove("over"); });
card.addEventListener("drop", (event) => { event.preventDefault(); card.classList.remove("over"); take([...event.dataTransfer.files]); });
addEventListener("beforeunload", (event) => { if ([...uploads].some((upload) => upload.is_busy)) event.preventDefault(); });

// What an earlier visit did not finish, for the 24 hours that its session lives.
function offer() {
  card.querySelector(".unfinished")?.remove();
  const open = [];
  try {
    for (const key of Object.keys(localStorage).filter((key) => key.startsWith(`${LABEL}${base} `))) {
      const kept = JSON.parse(localStorage.getItem(key));
      if (Date.now() - kept.at > 86400000) localStorage.removeItem(key); else open.push(kept);
    }
  } catch { return; }
  const names = open.filter((kept) => ![...uploads].some((upload) => upload.file.name === kept.name)).map((kept) => kept.name);
  if (!names.length) return;
  const note = document.createElement("p");
  note.className = "unfinished notice warm";
  note.textContent = `Not finished: ${names.join(", ")}. Choose ${names.length === 1 ? "it" : "them"} again to go on; what was sent is not sent again.`;
  tray.before(note);
}
offer();
})();
