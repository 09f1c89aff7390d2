// An OpenID Connect provider for tests: npm oidc-provider with a login page that asks for an e-mail address only.

import { generateKeyPairSync } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import { text } from "node:stream/consumers";
import Provider from "oidc-provider";

const CLIENT = { id: "longshore", secret: "a-secret/of:the+tests" };
const ALGORITHMS = ["RS256", "PS256", "ES256", "EdDSA"];

const LOGIN_PAGE = `<!doctype html><html lang="en"><meta charset="utf-8"><title>Test provider</title>
<form method="post"><label>E-mail <input name="email" required></label> <button>Log in</button></form></html>`;

/** One private key of each type. The RSA key signs both RS256 and PS256. */
function privateKeys() {
  const pairs = [
    generateKeyPairSync("rsa", { modulusLength: 2048 }),
    generateKeyPairSync("ec", { namedCurve: "P-256" }),
    generateKeyPairSync("ed25519"),
  ];
  return { keys: pairs.map(({ privateKey }) => ({ ...privateKey.export({ format: "jwk" }), use: "sig" })) };
}

/** The address that a person enters is their account, and is verified. */
async function findAccount(_, id) {
  return { accountId: id, claims: async () => ({ sub: id, email: id, email_verified: true, name: "Test Person" }) };
}

/** Consents to everything, so that no page asks for it. */
async function loadExistingGrant({ oidc }) {
  const { client, provider, session } = oidc;
  const known = session.grantIdFor(client.clientId);
  if (known) return provider.Grant.find(known);
  const grant = new provider.Grant({ clientId: client.clientId, accountId: session.accountId });
  grant.addOIDCScope("openid email profile");
  await grant.save();
  return grant;
}

export class IdentityServer {
  /** Starts a provider for the dashboard at this URL. It signs its ID tokens with this algorithm. */
  static async start(dashboard, algorithm) {
    const started = new IdentityServer();
    /** The algorithms of the ID tokens that were issued, the latest last. */
    started.issued = [];
    started.server = createServer();
    started.server.listen(0, "127.0.0.1");
    await once(started.server, "listening");
    started.issuer = `http://127.0.0.1:${started.server.address().port}`;
    const provider = new Provider(started.issuer, {
      clients: [{
        client_id: CLIENT.id,
        client_secret: CLIENT.secret,
        redirect_uris: [`${dashboard}/dashboard/oidc/callback`],
        id_token_signed_response_alg: algorithm,
      }],
      claims: { openid: ["sub"], email: ["email", "email_verified"], profile: ["name"] },
      // The ID token carries the claims; otherwise they are at the userinfo endpoint only.
      conformIdTokenClaims: false,
      enabledJWA: { idTokenSigningAlgValues: ALGORITHMS },
      features: { devInteractions: { enabled: false } },
      findAccount,
      interactions: { url: (_, interaction) => `/interaction/${interaction.uid}` },
      jwks: privateKeys(),
      loadExistingGrant,
    });
    provider.on("grant.success", ({ body }) => {
      const [head] = body.id_token.split(".");
      started.issued.push(JSON.parse(Buffer.from(head, "base64url").toString()).alg);
    });
    provider.on("server_error", (_, failure) => console.error(failure));
    const handle = provider.callback();
    started.server.on("request", (request, response) => {
      if (!request.url.startsWith("/interaction/")) return handle(request, response);
      return logIn(provider, request, response).catch((failure) => {
        response.writeHead(500).end(String(failure));
      });
    });
    return started;
  }

  /** The settings of longshored for this provider. */
  settings() {
    return { SVC_OIDC_ISSUER: this.issuer, SVC_OIDC_CLIENT: CLIENT.id, SVC_OIDC_SECRET: CLIENT.secret };
  }

  stop() {
    this.server.close();
    this.server.closeAllConnections();
  }
}

/** The login page, and the answer to its form. */
async function logIn(provider, request, response) {
  if (request.method === "GET") {
    response.writeHead(200, { "Content-Type": "text/html" }).end(LOGIN_PAGE);
    return;
  }
  const accountId = new URLSearchParams(await text(request)).get("email");
  await provider.interactionFinished(request, response, { login: { accountId } });
}
