import { createHmac, createSecretKey, hkdfSync, type KeyObject, timingSafeEqual } from 'node:crypto';
import { KvasirError } from '../../../../src/errors';

/** Bytes of a signature. */
export const SIGNATURE_BYTES = 16;
/** Below this a secret can be guessed by trying. */
const LEAST_SECRET_BYTES = 16;

/** What router replicas derive from the secret that they share. Each use has a key of its own. */
export class ClusterKey {
  /** Seed of prompt hashes: replicas agree on them, and nobody without the secret can make prompts that collide. */
  readonly hashSeed: bigint;
  /** Name under which those with the same secret find each other, where others are too. */
  readonly group: string;
  private readonly signing: KeyObject;

  /** @throws KvasirError `replication/secret` when it is shorter than 16 bytes. */
  constructor(secret: Buffer) {
    if (secret.length < LEAST_SECRET_BYTES) {
      throw new KvasirError({
        code: 'replication/secret',
        field: 'replication.secretFile',
        message: `the secret has ${secret.length} bytes`,
        remedy: `take at least ${LEAST_SECRET_BYTES} random bytes, such as \`openssl rand -hex 32\` makes`,
      });
    }
    const derived = (use: string, bytes: number): Buffer => Buffer.from(hkdfSync('sha256', secret, '', `kvasir ${use}`, bytes));
    this.hashSeed = derived('prompt hashes', 8).readBigUInt64LE();
    this.group = derived('replication group', 8).toString('hex');
    this.signing = createSecretKey(derived('replication frames', 32));
  }

  sign(...parts: readonly Buffer[]): Buffer {
    const hmac = createHmac('sha256', this.signing);
    for (const part of parts) hmac.update(part);
    return hmac.digest().subarray(0, SIGNATURE_BYTES);
  }

  /** Takes as long for every wrong signature. */
  isSigned(signature: Buffer, ...parts: readonly Buffer[]): boolean {
    return signature.length === SIGNATURE_BYTES && timingSafeEqual(signature, this.sign(...parts));
  }
}
