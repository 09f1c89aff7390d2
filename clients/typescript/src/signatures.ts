/** The signatures of Standard Webhooks: `v1` is HMAC-SHA256, `v1a` is Ed25519. */

import { LongshoreError } from "./error_base.js";

const HMAC = { name: "HMAC", hash: "SHA-256" };
const PREFIXES = { whsec_: "v1", whpk_: "v1a" } as const;

type Bytes = Uint8Array<ArrayBuffer>;

/** Other versions than that of the secret do not fit. */
export async function verifyToken(secret: string, token: string, signed: Bytes): Promise<boolean> {
  const { version, key } = readSecret(secret);
  const [tokenVersion, text] = token.split(",", 2);
  const signature = tokenVersion === version ? fromBase64(text ?? "") : undefined;
  if (!signature) return false;
  if (version === "v1") {
    return crypto.subtle.verify("HMAC", await importHmac(key, "verify"), signature, signed);
  }
  const publicKey = await crypto.subtle.importKey("raw", key, "Ed25519", false, ["verify"]);
  return crypto.subtle.verify("Ed25519", publicKey, signature, signed);
}

export async function signToken(secret: string, signed: Bytes): Promise<string> {
  const { version, key } = readSecret(secret);
  if (version !== "v1") throw new LongshoreError("only a secret that begins with whsec_ can sign");
  const signature = await crypto.subtle.sign("HMAC", await importHmac(key, "sign"), signed);
  return `v1,${btoa(String.fromCharCode(...new Uint8Array(signature)))}`;
}

function importHmac(key: Bytes, use: "sign" | "verify"): Promise<CryptoKey> {
  return crypto.subtle.importKey("raw", key, HMAC, false, [use]);
}

function readSecret(secret: string): { version: "v1" | "v1a"; key: Bytes } {
  for (const [prefix, version] of Object.entries(PREFIXES)) {
    const key = secret.startsWith(prefix) ? fromBase64(secret.slice(prefix.length)) : undefined;
    if (key && key.length > 0) return { version, key };
  }
  // The secret must not be in a log.
  throw new LongshoreError("a secret is whsec_ or whpk_ with base64 after it");
}

function fromBase64(text: string): Bytes | undefined {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  } catch {
    return undefined;
  }
}
