// An authenticator app: codes of RFC 6238 for the key that the dashboard shows.

import { createHmac } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";

const STEP = 30_000;
const BASE32 = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

function decodeBase32(letters) {
  const bits = [...letters].map((letter) => BASE32.indexOf(letter).toString(2).padStart(5, "0")).join("");
  return Buffer.from(bits.match(/.{8}/g).map((byte) => Number.parseInt(byte, 2)));
}

export class Authenticator {
  constructor(secret) {
    this.secret = decodeBase32(secret);
    this.lastStep = 0;
  }

  /**
   * A code that was not used before. The server accepts the codes of three steps (one early, one late), each once and
   * in their order. So three codes are free within a minute, and only a fourth one waits for its step.
   */
  async nextCode() {
    // The oldest step must stay valid until the form arrives.
    const oldest = Math.floor((Date.now() + 5000) / STEP) - 1;
    this.lastStep = Math.max(oldest, this.lastStep + 1);
    const wait = (this.lastStep - 1) * STEP + 1000 - Date.now();
    if (wait > 1000) await sleep(wait);
    return this.code(this.lastStep);
  }

  code(step) {
    const counter = Buffer.alloc(8);
    counter.writeBigUInt64BE(BigInt(step));
    const tag = createHmac("sha1", this.secret).update(counter).digest();
    const number = tag.readUInt32BE(tag[19] & 15) & 0x7fffffff;
    return String(number % 1_000_000).padStart(6, "0");
  }
}
