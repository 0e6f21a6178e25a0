import { RouterError, type RouterErrorCode } from '../errors';
import type { ApiPath } from '../request/api-paths';
import { type AnswerHead, answerHead } from '../request/upstream-headers';
import type { AnswerSink } from './client-answer';
import type { Deadline, DeadlineWheel } from './deadline-wheel';
import { statusOfErrorEvent } from './engine-error';
import { type ExchangeOutcome, refused, type Usage } from './exchange-outcome';
import { streamErrorEvent } from './stream-error';
import { StreamPace } from './stream-pace';
import { StreamWatcher } from './stream-watcher';
import type { Underway } from './underway';
import type { UpstreamConnection, UpstreamFailure, UpstreamHandler } from './upstream-connection';
import { DocumentUsage } from './usage';

/** One request to one endpoint. */
export interface ExchangeRequest {
  readonly api: ApiPath;
  /** Path and query. */
  readonly target: string;
  readonly headers: string[];
  readonly body: Buffer;
  readonly withholdsUsage: boolean;
  readonly connectMs: number;
  /** From sending to the head of the answer. */
  readonly firstByteMs: number;
  readonly idleMs: number;
  readonly streamIdleFloorMs: number;
}

export interface ExchangeHooks {
  /** The head of the answer came. */
  onHead(status: number): void;
  /** The first event of a stream with content came: prefill is over. */
  onFirstToken(): void;
  /** The answer is about to begin towards the client: no other attempt will follow. */
  onCommit(): void;
  /** The client was given up or is done with; called once. @param isClean the connection may be used again. */
  onOver(isClean: boolean): void;
}

/** Bytes of an error answer that are kept. */
const ERROR_BYTES = 64 * 1024;
/** Bytes of a stream's beginning that are held while its first event is not known. */
const PENDING_BYTES = 64 * 1024;
const EVENT_STREAM = 'text/event-stream';

type Phase = 'connect' | 'sent' | 'refusal' | 'document' | 'stream' | 'over';

const NO_HEAD: AnswerHead = { contentType: '', contentLength: undefined, headers: [] };

/**
 * Carries one request to an endpoint and its answer to the client. Until the first event of a stream is known to be no error, nothing
 * reaches the client, so that another endpoint may still be tried.
 */
export class Exchange implements UpstreamHandler, Underway {
  listIndex = -1;
  readonly outcome: Promise<ExchangeOutcome>;
  private finish!: (outcome: ExchangeOutcome) => void;
  private phase: Phase = 'connect';
  private resume: (() => void) | undefined;
  private readonly deadline: Deadline;
  private status = 0;
  private head = NO_HEAD;
  private parts: Buffer[] = [];
  private partBytes = 0;
  private isCommitted = false;
  private isPaused = false;
  private listensToDrain = false;
  private watcher: StreamWatcher | undefined;
  private pace: StreamPace | undefined;
  private documentUsage: DocumentUsage | undefined;

  constructor(
    private readonly request: ExchangeRequest,
    private readonly answer: AnswerSink,
    private readonly wheel: DeadlineWheel,
    private readonly isReused: boolean,
    private readonly hooks: ExchangeHooks,
  ) {
    this.outcome = new Promise((resolve) => {
      this.finish = resolve;
    });
    this.deadline = wheel.deadline(() => this.onDeadline());
  }

  start(client: UpstreamConnection): void {
    const { target, headers, body, api } = this.request;
    this.deadline.set(this.request.connectMs);
    client.dispatch({ method: api.method, target, headers, body }, this);
  }

  /** The client's connection closed. */
  clientLeft(): void {
    if (this.phase !== 'over') this.over({ kind: 'client-left', ...this.usagePart() }, false);
  }

  /** The request as a whole took too long, or the router is shutting down. */
  giveUp(code: 'upstream_timeout' | 'shutting_down', reason: string): void {
    this.fail(code, reason, { isTimeout: true, isReset: false });
  }

  onConnect(): void {
    this.phase = 'sent';
    this.deadline.set(this.request.firstByteMs);
  }

  onHeaders(status: number, headers: readonly string[], resume: () => void): void {
    if (this.phase === 'over') return;
    this.status = status;
    this.head = answerHead(headers);
    this.resume = resume;
    this.hooks.onHead(status);
    this.deadline.set(this.request.idleMs);
    if (status >= 300) {
      this.phase = 'refusal';
    } else if (this.head.contentType.startsWith(EVENT_STREAM)) {
      this.phase = 'stream';
      this.watcher = new StreamWatcher({ withholdsUsage: this.request.withholdsUsage });
      this.pace = new StreamPace(this.request.streamIdleFloorMs, this.request.idleMs);
    } else {
      this.phase = 'document';
      this.documentUsage = new DocumentUsage();
    }
  }

  onData(chunk: Buffer): boolean {
    this.take(chunk);
    return !this.isPaused;
  }

  private take(chunk: Buffer): void {
    switch (this.phase) {
      case 'refusal':
        if (this.partBytes < ERROR_BYTES) this.keep(chunk);
        return;
      case 'document':
        this.documentUsage!.push(chunk);
        if (!this.isCommitted && String(chunk.length) === this.head.contentLength) {
          this.keep(chunk);
          return;
        }
        this.commit();
        this.pass(chunk);
        return;
      case 'stream':
        this.onStreamData(chunk);
        return;
      default:
        return;
    }
  }

  onComplete(): void {
    switch (this.phase) {
      case 'refusal':
        this.over(refused(this.status, this.head.headers, this.joined()), true);
        return;
      case 'document': {
        const usage = this.documentUsage!.find();
        if (this.isCommitted) this.answer.end();
        else {
          this.hooks.onCommit();
          this.answer.whole(this.status, this.head.headers, this.joined());
        }
        this.over({ kind: 'completed', ...(usage === undefined ? {} : { usage }) }, true);
        return;
      }
      case 'stream':
        this.onStreamEnd();
        return;
      default:
        return;
    }
  }

  onError({ kind, reason }: UpstreamFailure): void {
    if (this.phase === 'over') return;
    const isTimeout = kind === 'connect-timeout';
    this.fail(isTimeout ? 'upstream_timeout' : 'upstream_lost', reason, { isTimeout, isReset: kind === 'broken' });
  }

  private onStreamData(chunk: Buffer): void {
    const watcher = this.watcher!;
    watcher.push(chunk, (bytes) => (this.isCommitted ? this.pass(bytes) : this.keep(bytes)));
    if (!this.isCommitted && watcher.first !== 'none') {
      if (watcher.first === 'error') {
        this.refuseByEvent(watcher.error!);
        return;
      }
      this.hooks.onFirstToken();
      this.commit();
    } else if (!this.isCommitted && this.partBytes > PENDING_BYTES) {
      this.commit();
    }
    if (this.phase === 'stream' && !this.isPaused) this.deadline.set(this.pace!.idleMsAfterChunk(this.wheel.clock.monotonic()));
  }

  private onStreamEnd(): void {
    const watcher = this.watcher!;
    watcher.end((bytes) => (this.isCommitted ? this.pass(bytes) : this.keep(bytes)));
    if (!this.isCommitted) {
      if (watcher.first === 'error') {
        this.refuseByEvent(watcher.error!);
        return;
      }
      if (watcher.first === 'none') {
        this.over(
          { kind: 'failed', phase: 'sent', reason: 'empty stream', isTimeout: false, isReset: false, isIdleClose: false },
          true,
        );
        return;
      }
      this.commit();
    }
    if (watcher.error !== undefined) {
      this.answer.end();
      this.over({ kind: 'lost', reason: 'error event', ...this.usagePart() }, true);
      return;
    }
    if (!watcher.isFinished && this.request.api.streamEnd !== 'none') {
      this.endBroken('upstream_lost', 'the engine ended its stream early');
      this.over({ kind: 'lost', reason: 'ended early', ...this.usagePart() }, true);
      return;
    }
    this.answer.end();
    this.over({ kind: 'completed', ...this.usagePart() }, true);
  }

  /** The engine answered 200 and then an error: nothing of it has reached the client. */
  private refuseByEvent(payload: string): void {
    const headers = ['content-type', 'application/json'];
    this.over(refused(statusOfErrorEvent(payload), headers, Buffer.from(payload)), false);
  }

  private onDeadline(): void {
    if (this.phase === 'over') return;
    if (this.isPaused) {
      // The client stopped reading: it is treated as gone, or it would hold an engine's slot for ever.
      this.answer.cut();
      this.over({ kind: 'client-left', ...this.usagePart() }, false);
      return;
    }
    const what = this.phase === 'connect' ? 'connect' : this.phase === 'sent' ? 'first byte' : 'idle';
    this.fail('upstream_timeout', `${what} deadline`, { isTimeout: true, isReset: false });
  }

  private fail(code: RouterErrorCode, reason: string, how: { readonly isTimeout: boolean; readonly isReset: boolean }): void {
    if (this.phase === 'over') return;
    if (this.isCommitted) {
      this.endBroken(code, code === 'upstream_timeout' ? 'the answer stalled' : 'the answer broke off');
      this.over({ kind: 'lost', reason, ...this.usagePart() }, false);
      return;
    }
    const phase = this.phase === 'connect' ? 'connect' : 'sent';
    const isIdleClose = how.isReset && this.isReused && this.phase === 'sent';
    this.over({ kind: 'failed', phase, reason, ...how, isIdleClose }, false);
  }

  /** Ends an answer of which a part is missing so that the client can tell. */
  private endBroken(code: RouterErrorCode, what: string): void {
    if (this.phase === 'stream') this.answer.end(streamErrorEvent(new RouterError(code, what), this.request.api));
    else this.answer.cut();
  }

  private commit(): void {
    if (this.isCommitted) return;
    this.isCommitted = true;
    this.hooks.onCommit();
    const headers = this.head.headers;
    const length = this.head.contentLength;
    if (this.phase === 'document' && length !== undefined) headers.push('content-length', length);
    this.answer.begin(this.status, headers);
    for (const part of this.parts) this.pass(part);
    this.parts = [];
  }

  private keep(bytes: Buffer): void {
    this.parts.push(bytes);
    this.partBytes += bytes.length;
  }

  private joined(): Buffer {
    return this.parts.length === 1 ? this.parts[0]! : Buffer.concat(this.parts);
  }

  private pass(bytes: Buffer): void {
    if (this.answer.write(bytes) || this.isPaused) return;
    this.isPaused = true;
    this.deadline.set(this.request.idleMs);
    if (this.listensToDrain) return;
    this.listensToDrain = true;
    this.answer.onDrain(() => {
      if (!this.isPaused || this.phase === 'over') return;
      this.isPaused = false;
      this.deadline.set(this.request.idleMs);
      this.resume!();
    });
  }

  private usagePart(): Usage {
    const { watcher } = this;
    if (watcher === undefined) return {};
    return watcher.usage === undefined ? { streamedEvents: watcher.contentEvents } : { usage: watcher.usage };
  }

  private over(outcome: ExchangeOutcome, isClean: boolean): void {
    this.phase = 'over';
    this.deadline.clear();
    this.parts = [];
    this.hooks.onOver(isClean);
    this.finish(outcome);
  }
}
