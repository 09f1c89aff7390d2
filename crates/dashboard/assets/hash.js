// Web worker: SHA-256 of files of any size, in chunks, with progress messages.
"use strict";

const K = new Uint32Array([
  0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
  0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
  0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
  0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
  0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
  0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
  0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
  0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
]);

class Sha256 {
  constructor() {
    this.state = new Int32Array([0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19]);
    this.words = new Int32Array(64);
    this.rest = new Uint8Array(64);
    this.held = 0;
    this.length = 0;
  }

  update(bytes) {
    this.length += bytes.length;
    let at = 0;
    if (this.held > 0) {
      at = Math.min(64 - this.held, bytes.length);
      this.rest.set(bytes.subarray(0, at), this.held);
      this.held += at;
      if (this.held < 64) return this;
      this.block(this.rest, 0);
      this.held = 0;
    }
    for (; at + 64 <= bytes.length; at += 64) this.block(bytes, at);
    this.rest.set(bytes.subarray(at));
    this.held = bytes.length - at;
    return this;
  }

  block(bytes, at) {
    const w = this.words, state = this.state;
    for (let i = 0; i < 16; i++, at += 4) w[i] = bytes[at] << 24 | bytes[at + 1] << 16 | bytes[at + 2] << 8 | bytes[at + 3];
    for (let i = 16; i < 64; i++) {
      const x = w[i - 15], y = w[i - 2];
      w[i] = w[i - 16] + w[i - 7]
        + ((x >>> 7 | x << 25) ^ (x >>> 18 | x << 14) ^ x >>> 3)
        + ((y >>> 17 | y << 15) ^ (y >>> 19 | y << 13) ^ y >>> 10) | 0;
    }
    let a = state[0], b = state[1], c = state[2], d = state[3], e = state[4], f = state[5], g = state[6], h = state[7];
    for (let i = 0; i < 64; i++) {
      const one = h + ((e >>> 6 | e << 26) ^ (e >>> 11 | e << 21) ^ (e >>> 25 | e << 7)) + (g ^ e & (f ^ g)) + K[i] + w[i] | 0;
      const two = ((a >>> 2 | a << 30) ^ (a >>> 13 | a << 19) ^ (a >>> 22 | a << 10)) + (a & b ^ c & (a ^ b)) | 0;
      h = g; g = f; f = e; e = d + one | 0;
      d = c; c = b; b = a; a = one + two | 0;
    }
    state[0] += a; state[1] += b; state[2] += c; state[3] += d; state[4] += e; state[5] += f; state[6] += g; state[7] += h;
  }

  digest() {
    const bits = this.length * 8;
    const end = new Uint8Array((this.held < 56 ? 64 : 128) - this.held);
    const view = new DataView(end.buffer);
    end[0] = 0x80;
    // Correct for files below 2^53 bits, far above the size limit.
    view.setUint32(end.length - 8, Math.floor(bits / 2 ** 32));
    view.setUint32(end.length - 4, bits >>> 0);
    this.update(end);
    const out = new Uint8Array(32);
    const words = new DataView(out.buffer);
    this.state.forEach((word, index) => words.setInt32(index * 4, word));
    return out;
  }
}

const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
const base64 = (bytes) => btoa(String.fromCharCode(...bytes));
const CHUNK = 4 << 20;

// The browser's hash is faster but needs the whole buffer, which is fine for a part. It does not exist on plain HTTP pages.
async function digest(bytes) {
  const subtle = globalThis.crypto?.subtle;
  return subtle ? new Uint8Array(await subtle.digest("SHA-256", bytes)) : new Sha256().update(bytes).digest();
}

// The digests of the file and of its parts. Reads every byte once.
async function hash(file, part, onProgress) {
  const whole = new Sha256();
  const parts = [];
  let last = null;
  for (let from = 0; from < file.size; from += part) {
    const bytes = new Uint8Array(await file.slice(from, from + part).arrayBuffer());
    last = await digest(bytes);
    parts.push(base64(last));
    if (file.size <= part) break;
    for (let at = 0; at < bytes.length; at += CHUNK) {
      whole.update(bytes.subarray(at, at + CHUNK));
      onProgress(Math.min(from + at + CHUNK, file.size));
    }
  }
  return { sha256: hex(parts.length === 1 ? last : whole.digest()), parts };
}

if (typeof module === "object") {
  module.exports = { Sha256, hash };
} else {
  let queue = Promise.resolve();
  onmessage = ({ data: { number, file, part } }) => {
    queue = queue.then(async () => {
      try {
        postMessage({ number, ...await hash(file, part, (done) => postMessage({ number, done })) });
      } catch (failure) {
        postMessage({ number, failure: String(failure.message || failure) });
      }
    });
  };
}
