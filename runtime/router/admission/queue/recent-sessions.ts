import type { LRUCache } from 'lru-cache';
import type { QueueConfig } from '../../../../src/config/queue-config';
import { lru } from '../../../lib/lru';
import type { RequestHead } from '../../request';
import type { Identity } from '../identity';

/** Longest name of a session that is remembered. */
const MAX_NAME_CHARACTERS = 256;

/** When sessions last had an answer. */
export class RecentSessions {
  private readonly answeredMs: LRUCache<string, number>;
  private readonly header: string;

  constructor({ header, maxSessions }: QueueConfig['sessionBoost']) {
    this.header = header.toLowerCase();
    this.answeredMs = lru(maxSessions);
  }

  /** The session of a request; undefined when it names none. Nobody has another user's. */
  keyOf({ tenant, user }: Identity, { headers }: Pick<RequestHead, 'headers'>): string | undefined {
    const name = headers[this.header];
    if (typeof name !== 'string' || name === '' || name.length > MAX_NAME_CHARACTERS) return undefined;
    return `${tenant ?? ''}\n${user ?? ''}\n${name}`;
  }

  /** Asking does not make it recent. */
  answeredAtMs(session: string): number | undefined {
    return this.answeredMs.peek(session);
  }

  answered(session: string, nowMs: number): void {
    this.answeredMs.set(session, nowMs);
  }
}
