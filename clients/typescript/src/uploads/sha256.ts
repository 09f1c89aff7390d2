/** SHA-256 in pieces. Web Crypto hashes only whole buffers. */

const K = new Int32Array([
  0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98,
  0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786,
  0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8,
  0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13,
  0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819,
  0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a,
  0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7,
  0xc67178f2,
]);
const INITIAL_STATE = [
  0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
];
const BLOCK_BYTES = 64;

const rotate = (x: number, bits: number): number => (x >>> bits) | (x << (32 - bits));

export class Sha256 {
  readonly #state = Int32Array.from(INITIAL_STATE);
  readonly #words = new Int32Array(64);
  readonly #rest = new Uint8Array(BLOCK_BYTES);
  #held = 0;
  #length = 0;

  update(bytes: Uint8Array): this {
    this.#length += bytes.length;
    let at = 0;
    if (this.#held > 0) {
      at = Math.min(BLOCK_BYTES - this.#held, bytes.length);
      this.#rest.set(bytes.subarray(0, at), this.#held);
      this.#held += at;
      if (this.#held < BLOCK_BYTES) return this;
      this.#block(new DataView(this.#rest.buffer), 0);
      this.#held = 0;
    }
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    for (; at + BLOCK_BYTES <= bytes.length; at += BLOCK_BYTES) this.#block(view, at);
    this.#rest.set(bytes.subarray(at));
    this.#held = bytes.length - at;
    return this;
  }

  digest(): Uint8Array {
    const bits = this.#length * 8;
    const end = new Uint8Array((this.#held < 56 ? BLOCK_BYTES : 2 * BLOCK_BYTES) - this.#held);
    const view = new DataView(end.buffer);
    end[0] = 0x80;
    // Correct below 2^53 bits, far above the limit of a file.
    view.setUint32(end.length - 8, Math.floor(bits / 2 ** 32));
    view.setUint32(end.length - 4, bits >>> 0);
    this.update(end);
    const digest = new Uint8Array(32);
    const words = new DataView(digest.buffer);
    this.#state.forEach((word, index) => words.setInt32(4 * index, word));
    return digest;
  }

  #block(bytes: DataView, at: number): void {
    // All indices are within the arrays.
    const w = this.#words as unknown as { [index: number]: number };
    const k = K as unknown as { [index: number]: number };
    for (let i = 0; i < 16; i += 1) w[i] = bytes.getInt32(at + 4 * i);
    for (let i = 16; i < 64; i += 1) {
      const x = w[i - 15]!;
      const y = w[i - 2]!;
      const one = rotate(x, 7) ^ rotate(x, 18) ^ (x >>> 3);
      const two = rotate(y, 17) ^ rotate(y, 19) ^ (y >>> 10);
      w[i] = (w[i - 16]! + one + w[i - 7]! + two) | 0;
    }
    const s = this.#state as unknown as { [index: number]: number };
    let [a, b, c, d, e, f, g, h] = [s[0]!, s[1]!, s[2]!, s[3]!, s[4]!, s[5]!, s[6]!, s[7]!];
    for (let i = 0; i < 64; i += 1) {
      const one = (h + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) + (g ^ (e & (f ^ g))) + k[i]! + w[i]!) | 0;
      const two = ((rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) + ((a & b) ^ (c & (a ^ b)))) | 0;
      // Not by destructuring, which is several times slower.
      h = g;
      g = f;
      f = e;
      e = (d + one) | 0;
      d = c;
      c = b;
      b = a;
      a = (one + two) | 0;
    }
    [a, b, c, d, e, f, g, h].forEach((word, index) => (s[index]! += word));
  }
}
