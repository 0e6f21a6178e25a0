import { createHash } from 'node:crypto';
import type { KubeObject } from '../../../src/api/meta';
import { type Clock, sleep } from '../../lib/clock';
import { lru } from '../../lib/lru';
import { wallClock } from '../../lib/wall-clock';
import type { Events } from '../cluster';
import { timestamp } from '../object-source';
import type { ApiRequests } from './api-client';
import { failureOf } from './outcome-of';
import { resourcePath } from './watched-resources';

const EVENTS = { apiVersion: 'v1', kind: 'Event', plural: 'events' };
/** Bounds of the API, in characters. */
const LONGEST = { message: 1024, reason: 128 };
/** Notes that wait to be written; more are dropped. */
const WAITING = 200;
/** Longest wait at the end. */
const CLOSE_MS = 1_000;
/** Events whose repeats are counted. */
const REMEMBERED = 1000;

interface Note {
  readonly path: string;
  readonly name: string;
  readonly body: object;
}

/** Writes core/v1 Events one after the other; repeats of one raise its count. What cannot be written is dropped. */
export class EventNotes implements Events {
  private readonly counts = lru<string, number>(REMEMBERED);
  private readonly waiting: Note[] = [];
  private writing: Promise<void> | undefined;
  private isClosed = false;

  /** @param component name of this program, as `kubectl describe` shows it. */
  constructor(
    private readonly client: ApiRequests,
    private readonly clock: Clock,
    private readonly component: string,
  ) {}

  note(regarding: KubeObject, type: 'Normal' | 'Warning', reason: string, message: string): void {
    if (this.isClosed || this.waiting.length >= WAITING) return;
    const { apiVersion, kind, metadata } = regarding;
    const { namespace = 'default', name, uid, resourceVersion } = metadata;
    const text = message.slice(0, LONGEST.message);
    const hash = createHash('sha256')
      .update(JSON.stringify([this.component, uid, type, reason, text]))
      .digest('hex')
      .slice(0, 16);
    const now = timestamp(this.clock.now());
    this.waiting.push({
      path: resourcePath(EVENTS, namespace),
      name: `${name.slice(0, 230)}.${hash}`,
      body: {
        apiVersion: EVENTS.apiVersion,
        kind: EVENTS.kind,
        metadata: { name: `${name.slice(0, 230)}.${hash}`, namespace },
        involvedObject: { apiVersion, kind, namespace, name, uid, resourceVersion },
        type,
        reason: reason.slice(0, LONGEST.reason),
        message: text,
        source: { component: this.component },
        reportingComponent: this.component,
        firstTimestamp: now,
        lastTimestamp: now,
        count: 1,
      },
    });
    this.writing ??= this.write().finally(() => {
      this.writing = undefined;
    });
  }

  /** Writes what waits, for a moment: no program stays for an API that is away. */
  async close(): Promise<void> {
    this.isClosed = true;
    if (this.writing === undefined) return;
    const ending = new AbortController();
    await Promise.race([this.writing, sleep(wallClock(), CLOSE_MS, ending.signal)]);
    ending.abort();
    this.waiting.length = 0;
  }

  private async write(): Promise<void> {
    for (let note = this.waiting.shift(); note !== undefined; note = this.waiting.shift()) {
      if (await this.repeat(note)) continue;
      const answer = await this.client.request({ method: 'POST', path: note.path, body: note.body });
      if (failureOf(answer) === undefined) this.counts.set(note.path + note.name, 1);
    }
  }

  /** @returns false when the Event is not there: never written, or expired. */
  private async repeat({ path, name, body }: Note): Promise<boolean> {
    const count = (this.counts.get(path + name) ?? 0) + 1;
    if (count === 1) return false;
    const answer = await this.client.request({
      method: 'PATCH',
      path: `${path}/${encodeURIComponent(name)}`,
      contentType: 'application/merge-patch+json',
      body: { count, lastTimestamp: (body as { readonly lastTimestamp: string }).lastTimestamp },
    });
    const failure = failureOf(answer);
    if (failure === undefined) this.counts.set(path + name, count);
    return failure?.kind !== 'gone';
  }
}
