import type { KubeObject } from '../../../src/api/meta';
import { type Clock, sleep } from '../../lib/clock';
import type { Random } from '../../lib/random';
import { wallClock } from '../../lib/wall-clock';
import { type ObjectRef, refKeyOf, refOf } from '../object-source';
import type { Freshness } from '../objects';
import type { ApiAnswer, ApiClient } from './api-client';
import { BackOff } from './back-off';
import { messageOf } from './outcome-of';
import { type Resource, resourcePath } from './watched-resources';

export interface ReflectorOptions {
  readonly client: ApiClient;
  readonly resource: Resource;
  /** @default every namespace */
  readonly namespace?: string;
  /** `labelSelector` or `fieldSelector`. */
  readonly select?: Readonly<Record<string, string>>;
  /** Takes what is seen. */
  readonly cache: { put(object: KubeObject): void; remove(ref: ObjectRef): void };
  /** Measures the age of the view. */
  readonly clock: Clock;
  readonly random: Random;
  /** Called with a sentence when the view stops being current, and with undefined when it is current again. */
  readonly onTrouble: (trouble: string | undefined) => void;
}

const PAGE_SIZE = 500;
const LIST_TIMEOUT_MS = 60_000;
/** A server ends a watch after this time, two seconds after a last bookmark; one that is still open later is cut off somewhere. */
const WATCH_SECONDS = 60;
const WATCH_GRACE_MS = 10_000;
/** A watch that ended sooner was cut; the next one waits its turn. */
const LASTING_WATCH_MS = 5_000;
/** How long a kind has to be unknown to the server before that counts: until it has served it once, and when it had objects. */
const ABSENT_MS = { atStart: 2_000, later: 30_000 };

/** After these a watch cannot be taken up: too old, no such kind any more, or (504) a version that the server has not reached. */
const RELIST: ReadonlySet<number> = new Set([404, 410, 504]);

interface ListPage {
  readonly metadata?: { readonly resourceVersion?: string; readonly continue?: string };
  readonly items?: readonly KubeObject[];
}

interface WatchLine {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR';
  readonly object: KubeObject & { readonly code?: number; readonly message?: string };
}

/**
 * Keeps a cache equal to the objects of one resource: lists in pages, then watches from there; lists anew when the server no longer knows
 * the version (410). What was seen stays while the API is away, and ages.
 */
export class Reflector {
  /** Network waits are real, whatever clock the images have. */
  private readonly real = wallClock();
  private readonly ending = new AbortController();
  private readonly backOff: BackOff;
  private known = new Map<string, ObjectRef>();
  private version: string | undefined;
  private isSynced = false;
  private isWatching = false;
  private confirmedMs: number;
  private absentSinceMs: number | undefined;
  private wakeSynced: () => void = () => undefined;
  /** Resolves after the first complete list, or when the server has said for a while that it knows no such kind. */
  readonly synced: Promise<void>;
  private readonly running: Promise<void>;

  constructor(private readonly options: ReflectorOptions) {
    this.backOff = new BackOff(options.random);
    this.confirmedMs = options.clock.monotonic();
    this.synced = new Promise((resolve) => {
      this.wakeSynced = resolve;
    });
    this.running = this.run();
  }

  freshness(): Freshness {
    return { isSynced: this.isSynced, ageMs: Math.max(0, this.options.clock.monotonic() - this.confirmedMs) };
  }

  /** The server was heard of at `atMs`: an open watch has told everything until then. */
  heard(atMs: number): void {
    if (this.isWatching) this.confirmedMs = Math.max(this.confirmedMs, atMs);
  }

  /** Takes all that it has seen out of the cache. For one that is closed. */
  forget(): void {
    for (const ref of this.known.values()) this.options.cache.remove(ref);
    this.known.clear();
  }

  async close(): Promise<void> {
    this.ending.abort();
    await this.running;
    this.wakeSynced();
  }

  private async run(): Promise<void> {
    while (!this.ending.signal.aborted) {
      const answer = this.version === undefined ? await this.list() : await this.watch(this.version);
      if (this.ending.signal.aborted) return;
      if (answer === 'go on') this.backOff.reset();
      else await this.recover(answer);
    }
  }

  private async recover(answer: ApiAnswer): Promise<void> {
    if (answer.kind === 'answered' && RELIST.has(answer.status)) this.version = undefined;
    const isAbsent = answer.kind === 'answered' && answer.status === 404;
    if (isAbsent) this.noteAbsence();
    else this.absentSinceMs = undefined;
    if (!(isAbsent && this.isSynced)) this.options.onTrouble(messageOf(answer));
    const leastMs = answer.kind === 'answered' ? (answer.retryAfterMs ?? 0) : 0;
    await sleep(this.real, this.backOff.next(leastMs), this.ending.signal);
  }

  /** A kind that is not installed has no objects. A server that starts may say so of a kind that is. */
  private noteAbsence(): void {
    const now = this.real.monotonic();
    this.absentSinceMs ??= now;
    const hasObjects = this.isSynced && this.known.size > 0;
    if (now - this.absentSinceMs < (hasObjects ? ABSENT_MS.later : ABSENT_MS.atStart)) return;
    this.replace([]);
    this.confirm();
  }

  private async list(): Promise<ApiAnswer | 'go on'> {
    const { client, resource, namespace, select, clock } = this.options;
    const path = resourcePath(resource, namespace);
    const items: KubeObject[] = [];
    let next: string | undefined;
    let isPaged = true;
    let startedMs = clock.monotonic();
    for (;;) {
      const query = {
        ...select,
        ...(isPaged ? { limit: String(PAGE_SIZE) } : {}),
        ...(next === undefined ? {} : { continue: next }),
      };
      const answer = await client.request({ method: 'GET', path, query, timeoutMs: LIST_TIMEOUT_MS });
      if (answer.kind === 'answered' && answer.status === 410 && isPaged) {
        // The version of the pages was compacted away meanwhile: take all in one.
        items.length = 0;
        next = undefined;
        isPaged = false;
        startedMs = clock.monotonic();
        continue;
      }
      if (answer.kind !== 'answered' || answer.status !== 200) return answer;
      const page = answer.body as ListPage;
      items.push(...(page.items ?? []));
      next = page.metadata?.continue || undefined;
      if (next !== undefined) continue;
      this.version = page.metadata?.resourceVersion;
      this.absentSinceMs = undefined;
      this.replace(items);
      this.confirm(startedMs);
      return 'go on';
    }
  }

  private async watch(version: string): Promise<ApiAnswer | 'go on'> {
    const { client, resource, namespace, select } = this.options;
    const openedMs = this.real.monotonic();
    let refusal: ApiAnswer | undefined;
    const answer = await client.stream(
      {
        method: 'GET',
        path: resourcePath(resource, namespace),
        query: {
          ...select,
          watch: '1',
          allowWatchBookmarks: 'true',
          resourceVersion: version,
          timeoutSeconds: String(WATCH_SECONDS),
        },
        timeoutMs: WATCH_SECONDS * 1000 + WATCH_GRACE_MS,
      },
      {
        opened: () => {
          this.isWatching = true;
          this.confirm();
        },
        line: (value) => {
          const line = value as WatchLine;
          if (line.type === 'ERROR') refusal = { kind: 'answered', status: line.object.code ?? 500, body: line.object };
          else this.take(line);
        },
      },
      this.ending.signal,
    );
    this.isWatching = false;
    if (refusal !== undefined) {
      // The server says that it cannot go on from here.
      this.version = undefined;
      return refusal;
    }
    const hasRun = answer.kind === 'answered' && answer.status === 200;
    if (hasRun && this.real.monotonic() - openedMs >= LASTING_WATCH_MS) return 'go on';
    return hasRun ? { kind: 'unreachable', message: 'the watch was cut' } : answer;
  }

  private take({ type, object }: WatchLine): void {
    if (this.ending.signal.aborted) return;
    this.version = object.metadata.resourceVersion;
    if (type !== 'BOOKMARK') {
      const whole = this.whole(object);
      const ref = refOf(whole);
      if (type === 'DELETED') {
        this.known.delete(refKeyOf(ref));
        this.options.cache.remove(ref);
      } else {
        this.known.set(refKeyOf(ref), ref);
        this.options.cache.put(whole);
      }
    }
    this.backOff.reset();
    this.confirm();
  }

  private replace(items: readonly KubeObject[]): void {
    const objects = items.map((item) => this.whole(item));
    const now = new Map(objects.map((object) => [refKeyOf(refOf(object)), refOf(object)]));
    for (const [key, ref] of this.known) if (!now.has(key)) this.options.cache.remove(ref);
    this.known = now;
    for (const object of objects) this.options.cache.put(object);
    this.isSynced = true;
    this.wakeSynced();
  }

  /** The items of a list do not say their kind. */
  private whole(object: KubeObject): KubeObject {
    const { apiVersion, kind } = this.options.resource;
    return { ...object, apiVersion, kind };
  }

  private confirm(atMs = this.options.clock.monotonic()): void {
    this.confirmedMs = Math.max(this.confirmedMs, atMs);
    this.options.onTrouble(undefined);
  }
}
