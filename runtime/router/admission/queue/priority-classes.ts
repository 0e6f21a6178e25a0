import type { QueueConfig } from '../../../../src/config/queue-config';
import type { RequestHead } from '../../request';
import type { Identity } from '../identity';

/** A class as requests have it. */
export interface PriorityClass {
  /** Undefined where there are no classes. */
  readonly name: string | undefined;
  /** 0 goes first. */
  readonly rank: number;
  readonly maxWaitMs: number;
  /** Bounds of the queue for its requests. */
  readonly maxRequests: number;
  readonly maxBytes: number;
}

/** Which class a request is of: its credentials', or a header's where the one that sends it may say so. */
export class PriorityClasses {
  private readonly byName: ReadonlyMap<string, PriorityClass>;
  private readonly common: PriorityClass;

  constructor(
    private readonly config: Pick<
      QueueConfig,
      'classes' | 'defaultClass' | 'classHeader' | 'maxWaitMs' | 'maxRequests' | 'maxBytes'
    >,
  ) {
    const { classes, defaultClass, maxWaitMs, maxRequests, maxBytes } = config;
    const made = classes.map(
      (each, rank): PriorityClass => ({
        name: each.name,
        rank,
        maxWaitMs: each.maxWaitMs ?? maxWaitMs,
        maxRequests: Math.ceil(maxRequests * each.queueShare),
        maxBytes: Math.ceil(maxBytes * each.queueShare),
      }),
    );
    this.byName = new Map(made.map((each) => [each.name!, each]));
    const named = defaultClass === undefined ? undefined : this.byName.get(defaultClass);
    this.common = named ?? made.at(-1) ?? { name: undefined, rank: 0, maxWaitMs, maxRequests, maxBytes };
  }

  of({ priorityClass }: Identity, { headers, forwarded }: Pick<RequestHead, 'headers' | 'forwarded'>): PriorityClass {
    const own = (priorityClass === undefined ? undefined : this.byName.get(priorityClass)) ?? this.common;
    const { classHeader } = this.config;
    if (classHeader === undefined) return own;
    const name = headers[classHeader];
    const asked = typeof name === 'string' ? this.byName.get(name) : undefined;
    if (asked === undefined) return own;
    // Only a trusted proxy has its word of the client taken down.
    return forwarded !== undefined || asked.rank >= own.rank ? asked : own;
  }
}
