import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type CryptoKey, exportJWK, generateKeyPair, type JWK, type JWTPayload, SignJWT } from 'jose';

export const ISSUER = 'https://id.example.com/';
export const AUDIENCE = 'llm';

interface SigningKey {
  readonly alg: string;
  readonly privateKey: CryptoKey;
  readonly jwk: JWK;
}

/** An issuer of tokens: its keys on a loopback port, and a pen to sign with. */
export class TokenIssuer {
  /** Requests for the keys so far. */
  fetches = 0;
  /** Replaces the answer to requests for the keys. */
  answer: ((response: ServerResponse) => void) | undefined;
  /** Keys that are published. */
  readonly published = new Map<string, JWK>();
  private readonly signing = new Map<string, SigningKey>();
  private server: Server | undefined;
  private port = 0;

  /** @param kid of its first key. */
  static async start(kid = 'k1'): Promise<TokenIssuer> {
    const issuer = new TokenIssuer();
    await issuer.addKey(kid);
    await issuer.listen();
    return issuer;
  }

  get jwksUri(): string {
    return `http://127.0.0.1:${this.port}/jwks.json`;
  }

  /** Makes a key and publishes it. */
  async addKey(kid: string, alg = 'ES256'): Promise<void> {
    const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true });
    const jwk = { ...(await exportJWK(publicKey)), kid, alg, use: 'sig' };
    this.signing.set(kid, { alg, privateKey, jwk });
    this.published.set(kid, jwk);
  }

  /** A token that is good, except for what `claims` and `head` say. A claim of undefined is left out. */
  sign(claims: JWTPayload = {}, kid = 'k1', head: object = {}): Promise<string> {
    const nowSeconds = Math.floor(Date.now() / 1000);
    const all = { iss: ISSUER, aud: AUDIENCE, sub: 'ada', iat: nowSeconds, exp: nowSeconds + 600, ...claims };
    const { alg, privateKey } = this.signing.get(kid)!;
    return new SignJWT(JSON.parse(JSON.stringify(all)) as JWTPayload).setProtectedHeader({ alg, kid, ...head }).sign(privateKey);
  }

  /** Takes connections, on the same port as before. */
  async listen(): Promise<void> {
    const server = createServer((_message, response) => {
      this.fetches += 1;
      if (this.answer !== undefined) this.answer(response);
      else response.end(JSON.stringify({ keys: [...this.published.values()] }));
    });
    await new Promise<void>((resolve) => server.listen(this.port, '127.0.0.1', resolve));
    this.server = server;
    this.port = (server.address() as AddressInfo).port;
  }

  /** Takes no connections any more. */
  async close(): Promise<void> {
    const { server } = this;
    this.server = undefined;
    if (server === undefined) return;
    const closed = new Promise((resolve) => server.close(resolve));
    server.closeAllConnections();
    await closed;
  }
}
