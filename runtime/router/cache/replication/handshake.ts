import { randomBytes } from 'node:crypto';
import { type ClusterKey, SIGNATURE_BYTES } from './cluster-key';
import type { SiblingId } from './frame';

/** Longest message before both sides know each other. */
export const MOST_HANDSHAKE_BYTES = 64;

const NONCE_BYTES = 16;
const ID_BYTES = 8;
const HELLO_BYTES = NONCE_BYTES + ID_BYTES;

/** How a step ended: `send` goes to the other side, `linked` when it has proved that it has the secret. */
export type HandshakeStep =
  | { readonly kind: 'more'; readonly send: Buffer }
  | { readonly kind: 'linked'; readonly sibling: SiblingId; readonly send?: Buffer }
  | { readonly kind: 'self' }
  | { readonly kind: 'refused' };

const REFUSED: HandshakeStep = { kind: 'refused' };

/**
 * Two routers prove to each other that they have the secret, each over numbers drawn by both, so that no proof can be used again or sent
 * back. Who accepts says hello; who connects answers with hello and proof; who accepts proves last.
 */
export class Handshake {
  private readonly own: Buffer;
  private theirs: Buffer | undefined;

  constructor(
    private readonly key: ClusterKey,
    private readonly self: SiblingId,
    private readonly role: 'accepts' | 'connects',
  ) {
    this.own = Buffer.concat([randomBytes(NONCE_BYTES), Buffer.from(self, 'hex')]);
  }

  /** What is sent first; undefined where the other side begins. */
  get first(): Buffer | undefined {
    return this.role === 'accepts' ? this.own : undefined;
  }

  step(message: Buffer): HandshakeStep {
    if (this.role === 'accepts') {
      if (message.length !== HELLO_BYTES + SIGNATURE_BYTES) return REFUSED;
      const hello = message.subarray(0, HELLO_BYTES);
      if (!this.isProof(message.subarray(HELLO_BYTES), 'connects', hello)) return REFUSED;
      return { kind: 'linked', sibling: idOf(hello), send: this.proof(hello) };
    }
    const { theirs } = this;
    if (theirs === undefined) {
      if (message.length !== HELLO_BYTES) return REFUSED;
      if (idOf(message) === this.self) return { kind: 'self' };
      this.theirs = Buffer.from(message);
      return { kind: 'more', send: Buffer.concat([this.own, this.proof(message)]) };
    }
    return this.isProof(message, 'accepts', theirs) ? { kind: 'linked', sibling: idOf(theirs) } : REFUSED;
  }

  private proof(theirs: Buffer): Buffer {
    return this.key.sign(Buffer.from(this.role), this.own, theirs);
  }

  private isProof(signature: Buffer, role: 'accepts' | 'connects', theirs: Buffer): boolean {
    return this.key.isSigned(signature, Buffer.from(role), theirs, this.own);
  }
}

function idOf(hello: Buffer): SiblingId {
  return hello.toString('hex', NONCE_BYTES);
}
