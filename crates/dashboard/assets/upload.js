// Uploads straight to the object store: hashed in a worker, sent in parts, retried, resumed after a reload.
"use strict";
(() => {
const card = document.querySelector("[data-upload]");
if (!card) return;
const base = card.dataset.upload;
const list = card.querySelector(".upload-list");
const input = card.querySelector("input[type=file]");
const PART = 16 << 20, MAX_PARALLEL_PARTS = 4, MAX_PARALLEL_FILES = 3, MAX_ATTEMPTS = 8;
const TYPES = {
  jpg: "image/jpeg", jpeg: "image/jpeg", png: "image/png", gif: "image/gif", webp: "image/webp",
  pdf: "application/pdf", txt: "text/plain", csv: "text/csv", md: "text/markdown", markdown: "text/markdown",
  mp4: "video/mp4", m4v: "video/mp4", mov: "video/quicktime", webm: "video/webm", mkv: "video/x-matroska",
};
const STORAGE_PREFIX = "upload ";
const sleep = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));
const size = (bytes) => bytes < 1024 ? `${bytes} bytes` : bytes < 1048576 ? `${(bytes / 1024).toFixed(0)} KB` : `${(bytes / 1048576).toFixed(1)} MB`;

// An error that a retry does not fix. Its message is for the user.
class Refusal extends Error {}
// The user pressed Pause.
class Paused extends Error {}

// Limits concurrency, first come, first served.
function limiter(slots) {
  const waiting = [];
  return async (work) => {
    if (slots > 0) slots -= 1; else await new Promise((go) => waiting.push(go));
    try { return await work(); } finally { const next = waiting.shift(); if (next) next(); else slots += 1; }
  };
}
const withPartSlot = limiter(MAX_PARALLEL_PARTS), withFileSlot = limiter(MAX_PARALLEL_FILES);

// The worker hashes one file after another.
let worker = null;
const hashing = new Map();
function hash(file, onProgress) {
  if (!worker) {
    worker = new Worker(card.dataset.worker);
    worker.onmessage = ({ data }) => {
      const job = hashing.get(data.number);
      if (data.done !== undefined) return job.onProgress(data.done);
      hashing.delete(data.number);
      if (data.failure) job.reject(new Refusal(`The file cannot be read: ${data.failure}`)); else job.resolve(data);
    };
  }
  return new Promise((resolve, reject) => {
    const number = Math.random();
    hashing.set(number, { resolve, reject, onProgress });
    worker.postMessage({ number, file, part: PART });
  });
}

// Calls the API through the dashboard. Returns its JSON or throws its error.
async function callApi(path, body) {
  const options = { credentials: "same-origin", headers: { "x-csrf-token": card.dataset.csrf } };
  if (body !== undefined) {
    Object.assign(options, { method: "POST", body: JSON.stringify(body) });
    options.headers["content-type"] = "application/json";
  }
  const response = await fetch(`${base}/api/files${path}`, options).catch(() => { throw new Error("The server cannot be reached."); });
  const json = await response.json().catch(() => null);
  if (response.ok && json) return json;
  if (response.status === 401 || response.redirected) throw new Refusal("You are signed out. Sign in in another tab, then press Resume.");
  if (response.status >= 500 || response.status === 429) throw new Error(json?.message || "The server does not respond.");
  if (!json) throw new Refusal("This page has expired. Reload it and choose the file again. Uploaded parts are kept.");
  const refusal = new Refusal(json.message || json.detail || "The server rejected the request.");
  refusal.code = json.error;
  throw refusal;
}

// Sends one request to the object store. Uses XMLHttpRequest because fetch reports no upload progress.
function send(upload, method, url, headers, body, onProgress) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    const end = (result) => { upload.requests.delete(request); result(); };
    upload.requests.add(request);
    request.open(method, url);
    for (const [name, value] of Object.entries(headers)) request.setRequestHeader(name, value);
    request.upload.onprogress = (event) => onProgress(event.loaded);
    request.onload = () => end(() => resolve(request));
    request.onerror = () => end(() => reject(new Error("The connection was lost.")));
    request.onabort = () => end(() => reject(new Paused()));
    request.timeout = 10 * 60 * 1000;
    request.ontimeout = () => end(() => reject(new Error("The object store timed out.")));
    request.send(body);
  });
}

class Upload {
  constructor(file) {
    this.file = file;
    this.requests = new Set();
    this.sent = new Map();
    this.inFlight = new Map();
    this.isPaused = false;
    this.draw();
  }

  // Saved across reloads, without the bytes: the user chooses the file again.
  get key() { return `${STORAGE_PREFIX}${base} ${this.file.name} ${this.file.size} ${this.file.lastModified} ${this.sha256}`; }
  loadSaved() { try { return JSON.parse(localStorage.getItem(this.key)); } catch { return null; } }
  save() {
    const saved = { name: this.file.name, at: Date.now(), id: this.id, sent: [...this.sent] };
    try { localStorage.setItem(this.key, JSON.stringify(saved)); } catch { /* A reload starts over. */ }
  }
  forget() { try { localStorage.removeItem(this.key); } catch { /* Nothing was saved. */ } }

  async run() {
    try {
      this.showStatus("busy", "queued");
      await withFileSlot(() => this.go());
    } catch (failure) {
      if (failure instanceof Paused) return this.showStatus("warm", "paused", true);
      if (failure instanceof Refusal && failure.isFinal) { this.forget(); return this.showStatus("bad", failure.message, false, true); }
      this.showStatus("bad", failure.message, true);
    }
  }

  async go() {
    this.isPaused = false;
    const type = TYPES[this.file.name.split(".").pop().toLowerCase()] || this.file.type;
    this.check(type);
    if (!this.sha256) {
      this.showStatus("busy", "hashing");
      const result = await hash(this.file, (done) => this.showProgress("hashed", done));
      Object.assign(this, { sha256: result.sha256, checksums: result.parts });
    }
    this.throwIfPaused();
    if (!await this.resume()) await this.create(type);
    if (this.state === "ready") return;
    if (this.state !== "validating") {
      if (this.grant.type === "post") await this.post(); else await this.put();
      await this.complete();
    }
    await this.waitForVerdict();
  }

  check(type) {
    const kind = type.startsWith("image/") ? "image" : type.startsWith("video/") ? "video" : "document";
    const maxSize = Number(card.dataset[`max${kind[0].toUpperCase()}${kind.slice(1)}`]);
    if (!Object.values(TYPES).includes(type)) throw this.finalError("Unsupported file type. Use JPEG, PNG, GIF, WebP, PDF, text, CSV, Markdown, MP4, QuickTime, WebM or Matroska.");
    if (this.file.size === 0) throw this.finalError("The file is empty.");
    if (this.file.size > maxSize) throw this.finalError(`The file is too large: ${size(this.file.size)}. The limit for ${kind}s is ${size(maxSize)}.`);
  }

  finalError(text) { const refusal = new Refusal(text); refusal.isFinal = true; return refusal; }

  // Called between any two steps.
  throwIfPaused() { if (this.isPaused) throw new Paused(); }

  // Continues this upload, or a saved one, if it is still open.
  async resume() {
    const saved = this.id ? null : this.loadSaved();
    const id = this.id || saved?.id;
    if (!id) return false;
    let record;
    try { record = await callApi(`/${id}`); } catch (failure) {
      if (!(failure instanceof Refusal) || failure.code !== "file_not_found") throw failure;
      this.forget();
      return false;
    }
    if (["failed", "expired"].includes(record.status)) { this.forget(); this.sent.clear(); this.id = null; return false; }
    this.id = id;
    if (saved) this.sent = new Map(saved.sent);
    this.state = record.status;
    if (record.status === "ready") { this.finish(record); return true; }
    if (record.status === "uploading") this.grant = (await this.retryCall(() => callApi(`/${id}/parts`, {}))).upload;
    if (saved && this.sent.size) this.showStatus("busy", `resuming: ${this.sent.size} of ${this.checksums.length} parts already uploaded`);
    return true;
  }

  async create(type) {
    this.showStatus("busy", "starting upload");
    const request = { filename: this.file.name.slice(0, 512), media_type: type, size_bytes: this.file.size, sha256: this.sha256 };
    if (this.file.size > 8 << 20) request.part_checksums = this.checksums;
    const session = await this.retryCall(() => callApi("", request));
    this.id = session.id;
    if (session.deduplicated) { this.state = "ready"; return this.finish({ status: "ready" }, "ready: the project already has a file with this content"); }
    this.state = "uploading";
    this.grant = session.upload;
    this.save();
  }

  // Small files are sent in one request.
  async post() {
    await withPartSlot(() => this.retryPart(1, async () => {
      const form = new FormData();
      for (const [name, value] of Object.entries(this.grant.fields)) form.append(name, value);
      form.append("file", this.file);
      const response = await send(this, "POST", this.grant.url, {}, form, (done) => this.setPartProgress(1, Math.min(done, this.file.size)));
      // 409 and 412 mean that an earlier attempt arrived and only its response was lost.
      if (response.status >= 300 && response.status !== 409 && response.status !== 412) throw new Error(`The object store returned ${response.status}.`);
      this.sent.set(1, "");
    }));
  }

  async put() {
    this.showStatus("busy", "uploading");
    const missing = this.checksums.map((_, index) => index + 1).filter((number) => !this.sent.has(number));
    const results = await Promise.allSettled(missing.map((number) => withPartSlot(() => this.retryPart(number, () => this.sendPart(number)))));
    const failed = results.find((result) => result.status === "rejected");
    if (failed) throw failed.reason;
  }

  async sendPart(number) {
    const url = this.grant.parts.find((part) => part.part_number === number)?.url;
    if (!url) throw new Error("A part has no upload URL yet.");
    const bytes = this.file.slice((number - 1) * PART, Math.min(number * PART, this.file.size));
    const headers = { [this.grant.checksum_header]: this.checksums[number - 1] };
    const response = await send(this, "PUT", url, headers, bytes, (done) => this.setPartProgress(number, Math.min(done, bytes.size)));
    if (response.status >= 300) throw new Error(`The object store returned ${response.status}.`);
    const etag = response.getResponseHeader("ETag");
    if (!etag) throw this.finalError("The object store's CORS rules do not expose the ETag header. Ask an operator to run `longshored doctor`.");
    this.sent.set(number, etag);
    this.save();
  }

  // Retries with backoff and a new grant, because the old one may have expired.
  async retryPart(number, work) {
    for (let tries = 1; ; tries++) {
      this.throwIfPaused();
      try {
        if (tries > 1 || Date.parse(this.grant.expires_at) < Date.now() + 5000) await this.refresh(number);
        await work();
        this.setPartProgress(number, null);
        if (this.checksums.length > 1) this.showStatus("busy", "uploading");
        return;
      } catch (failure) {
        this.setPartProgress(number, null);
        if (failure instanceof Paused || failure instanceof Refusal) throw failure;
        if (tries >= MAX_ATTEMPTS) throw new Error(`${failure.message} Uploaded parts are kept. Press Resume when the connection is back.`);
        this.showStatus("warm", `${failure.message} Retrying (${tries} of ${MAX_ATTEMPTS - 1}).`);
        await this.backOff(tries);
      }
    }
  }

  async refresh(number) {
    const { upload } = await callApi(`/${this.id}/parts`, this.grant.type === "post" ? {} : { part_numbers: [number] });
    if (upload.type === "post") { this.grant = upload; return; }
    const others = this.grant.parts.filter((part) => part.part_number !== number);
    this.grant = { ...this.grant, parts: [...others, ...upload.parts] };
  }

  // Waits for the backoff, or until the connection is back or the user pauses.
  async backOff(tries) {
    const until = Date.now() + Math.min(500 * 2 ** tries, 15000) * (0.75 + Math.random() / 2);
    let isOnline = false;
    const onOnline = () => { isOnline = true; };
    addEventListener("online", onOnline, { once: true });
    while (Date.now() < until && !isOnline && !this.isPaused) await sleep(100);
    removeEventListener("online", onOnline);
  }

  // Retries calls to the dashboard.
  async retryCall(work) {
    for (let tries = 1; ; tries++) {
      this.throwIfPaused();
      try { return await work(); } catch (failure) {
        if (failure instanceof Refusal || tries >= MAX_ATTEMPTS) throw failure;
        this.showStatus("warm", `${failure.message} Retrying.`);
        await this.backOff(tries);
      }
    }
  }

  async complete() {
    this.throwIfPaused();
    this.showStatus("busy", "uploaded, waiting for validation");
    const parts = this.checksums.map((checksum, index) => ({ part_number: index + 1, etag: this.sent.get(index + 1), checksum_sha256: checksum }));
    const body = this.grant.type === "post" ? {} : { parts };
    try {
      await this.retryCall(() => callApi(`/${this.id}/complete`, body));
    } catch (failure) {
      // Already completed, or rejected. The file record tells which.
      if (!(failure instanceof Refusal)) throw failure;
      this.error = failure.message;
    }
  }

  async waitForVerdict() {
    for (let polls = 0; ; polls++) {
      this.throwIfPaused();
      const record = await this.retryCall(() => callApi(`/${this.id}`));
      if (["ready", "failed", "expired"].includes(record.status)) return this.finish(record);
      if (record.status === "uploading") throw new Error(this.error || "The upload is not complete.");
      this.showStatus("busy", "validating");
      await sleep(Math.min(500 + polls * 250, 3000));
    }
  }

  finish(record, text) {
    this.forget();
    this.state = record.status;
    if (record.status !== "ready") throw this.finalError(this.error || `The file is ${record.status}${record.failure_reason ? `: ${record.failure_reason.replaceAll("_", " ")}` : ""}.`);
    this.showProgress("uploaded", this.file.size);
    this.showStatus("good", text || "ready", false, true);
  }

  pause() {
    this.isPaused = true;
    for (const request of [...this.requests]) request.abort();
    this.showStatus("warm", "pausing");
  }

  // Builds the list item.
  draw() {
    this.row = document.createElement("li");
    const make = (name, text = "", kind = "") => {
      const made = document.createElement(name);
      made.textContent = text;
      if (kind) made.className = kind;
      return made;
    };
    this.name = make("a", this.file.name, "name");
    this.progressText = make("span", size(this.file.size), "muted progress-text");
    this.status = make("span", "", "status");
    this.status.setAttribute("role", "status");
    this.bar = make("progress");
    this.bar.max = this.file.size || 1;
    this.bar.value = 0;
    this.bar.setAttribute("aria-label", `Upload progress of ${this.file.name}`);
    this.grid = make("ol", "", "plain parts");
    this.grid.setAttribute("aria-label", "Parts");
    this.button = make("button", "Pause", "small");
    this.button.type = "button";
    this.button.onclick = () => (this.button.textContent === "Pause" ? this.pause() : this.run());
    this.row.append(this.name, this.progressText, this.button, this.bar, this.grid, this.status);
    list.prepend(this.row);
  }

  showStatus(kind, text, canResume = false, isOver = false) {
    this.isOver = isOver;
    this.row.className = kind;
    if (this.status.textContent !== text) this.status.textContent = text;
    this.button.hidden = isOver;
    this.button.textContent = canResume ? "Resume" : "Pause";
    this.isBusy = !canResume && !isOver;
    if (this.id) this.name.href = `${base}/files/${this.id}`;
    this.grid.hidden = isOver;
    this.render();
  }

  setPartProgress(number, bytes) {
    if (bytes === null) this.inFlight.delete(number); else this.inFlight.set(number, bytes);
    this.render();
  }

  render() {
    if (!this.checksums) return;
    const partSize = (number) => Math.min(PART, this.file.size - (number - 1) * PART);
    const uploaded = [...this.sent.keys()].reduce((sum, number) => sum + partSize(number), 0);
    const inFlight = [...this.inFlight].reduce((sum, [number, bytes]) => sum + (this.sent.has(number) ? 0 : bytes), 0);
    if (this.state !== "ready") this.showProgress("uploaded", Math.min(uploaded + inFlight, this.file.size));
    if (this.checksums.length < 2) return;
    while (this.grid.children.length < this.checksums.length) {
      const part = document.createElement("li");
      part.title = `part ${this.grid.children.length + 1}`;
      this.grid.append(part);
    }
    [...this.grid.children].forEach((part, index) => {
      const kind = this.sent.has(index + 1) ? "done" : this.inFlight.has(index + 1) ? "sending" : "";
      if (part.className !== kind) part.className = kind;
    });
  }

  showProgress(label, bytes) {
    this.bar.value = bytes;
    const text = bytes >= this.file.size && label === "uploaded" ? size(this.file.size) : `${label} ${size(bytes)} of ${size(this.file.size)}`;
    if (this.progressText.textContent !== text) this.progressText.textContent = text;
  }
}

const uploads = new Set();
function addFiles(chosen) {
  for (const file of chosen) {
    const upload = new Upload(file);
    uploads.add(upload);
    upload.run();
  }
  showUnfinished();
}
input.addEventListener("change", () => { addFiles([...input.files]); input.value = ""; });
for (const name of ["dragenter", "dragover"]) card.addEventListener(name, (event) => { event.preventDefault(); card.classList.add("over"); });
card.addEventListener("dragleave", (event) => { if (!card.contains(event.relatedTarget)) card.classList.remove("over"); });
card.addEventListener("drop", (event) => { event.preventDefault(); card.classList.remove("over"); addFiles([...event.dataTransfer.files]); });
addEventListener("beforeunload", (event) => { if ([...uploads].some((upload) => upload.isBusy)) event.preventDefault(); });

// Lists unfinished uploads of the last 24 hours, after which the server drops them.
function showUnfinished() {
  card.querySelector(".unfinished")?.remove();
  const open = [];
  try {
    for (const key of Object.keys(localStorage).filter((key) => key.startsWith(`${STORAGE_PREFIX}${base} `))) {
      const saved = JSON.parse(localStorage.getItem(key));
      if (Date.now() - saved.at > 86400000) localStorage.removeItem(key); else open.push(saved);
    }
  } catch { return; }
  const names = open.filter((saved) => ![...uploads].some((upload) => upload.file.name === saved.name)).map((saved) => saved.name);
  if (!names.length) return;
  const note = document.createElement("p");
  note.className = "unfinished notice warm";
  note.textContent = `Unfinished uploads: ${names.join(", ")}. Choose ${names.length === 1 ? "the file" : "the files"} again to resume.`;
  list.before(note);
}
showUnfinished();
})();
