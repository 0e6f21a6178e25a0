import { RouterError } from '../errors';
import type { AnswerSink } from '../relay/client-answer';
import { streamErrorEvent } from '../relay/stream-error';
import type { ApiPath } from '../request/api-paths';
import { answerHeaders } from './answer-headers';
import { EventStreamReader } from './event-stream-reader';
import { fieldsOf, type JsonFields } from './json-fields';
import type { StreamTranslator } from './stream-translator';
import type { Translation } from './translation';

/** An answer that is one document is held whole to be translated, up to this size. */
const MAX_DOCUMENT_BYTES = 64 * 2 ** 20;

export interface ProviderAnswerOptions {
  /** The client's path, whose dialect it hears. */
  readonly api: ApiPath;
  /** Absent where client and provider speak the same API. */
  readonly translation?: Translation | undefined;
  /** Body of the client's request, where it is translated. */
  readonly request: JsonFields;
}

/** Stands between a provider's answer and the client: lets through what headers may pass, and translates the body where that is needed. */
export class ProviderAnswer implements AnswerSink {
  /** Why the answer could not be translated. */
  failure: string | undefined;
  /** Something of the answer was sent. */
  hasBegun = false;
  private mode: 'plain' | 'stream' | 'document' = 'plain';
  private status = 0;
  private headers: string[] = [];
  private readonly reader = new EventStreamReader();
  private translator: StreamTranslator | undefined;
  private parts: Buffer[] = [];
  private partBytes = 0;

  constructor(
    private readonly client: AnswerSink,
    private readonly options: ProviderAnswerOptions,
  ) {}

  begin(status: number, headers: string[]): void {
    const { translation, request } = this.options;
    this.status = status;
    if (translation === undefined) {
      this.hasBegun = true;
      this.client.begin(status, withLength(answerHeaders(headers), headers));
      return;
    }
    this.headers = answerHeaders(headers);
    if (headerOf(headers, 'content-type')?.startsWith('text/event-stream') === true) {
      this.mode = 'stream';
      this.translator = translation.stream(request);
      this.hasBegun = true;
      this.client.begin(status, this.headers);
    } else {
      this.mode = 'document';
    }
  }

  whole(status: number, headers: string[], body: Buffer): void {
    if (this.options.translation === undefined) {
      this.hasBegun = true;
      this.client.whole(status, answerHeaders(headers), body);
      return;
    }
    this.status = status;
    this.headers = answerHeaders(headers);
    this.parts = [body];
    this.sendDocument();
  }

  write(bytes: Buffer): boolean {
    switch (this.mode) {
      case 'plain':
        return this.client.write(bytes);
      case 'stream': {
        const text = this.translated(bytes);
        return text === '' || this.client.write(Buffer.from(text));
      }
      case 'document':
        this.partBytes += bytes.length;
        if (this.partBytes <= MAX_DOCUMENT_BYTES) this.parts.push(bytes);
        return true;
    }
  }

  onDrain(listener: () => void): void {
    this.client.onDrain(listener);
  }

  end(last?: string): void {
    if (this.mode === 'document') this.sendDocument();
    else if (this.failure === undefined) this.client.end(last);
  }

  cut(): void {
    this.client.cut();
  }

  private translated(bytes: Buffer): string {
    if (this.failure !== undefined) return '';
    let text = '';
    try {
      for (const data of this.reader.push(bytes)) text += this.translator!.event(data);
      return text;
    } catch {
      // Nothing of the provider's text: it may hold the prompt's.
      this.failure = 'an event of the provider could not be read';
      this.client.end(text + streamErrorEvent(new RouterError('provider_answer', this.failure), this.options.api));
      return '';
    }
  }

  private sendDocument(): void {
    const { translation } = this.options;
    let document: JsonFields;
    try {
      if (this.partBytes > MAX_DOCUMENT_BYTES) throw new RangeError('too long');
      const answer: unknown = JSON.parse(Buffer.concat(this.parts).toString('utf8'));
      document = translation!.answer(fieldsOf(answer));
    } catch {
      this.failure = 'the answer of the provider could not be read';
      return;
    } finally {
      this.parts = [];
    }
    this.hasBegun = true;
    this.client.whole(this.status, this.headers, Buffer.from(JSON.stringify(document)));
  }
}

function headerOf(headers: readonly string[], name: string): string | undefined {
  const index = headers.indexOf(name);
  return index === -1 ? undefined : headers[index + 1];
}

/** The relay tells the length of an answer that passes as it is. */
function withLength(kept: string[], headers: readonly string[]): string[] {
  const length = headerOf(headers, 'content-length');
  if (length !== undefined) kept.push('content-length', length);
  return kept;
}
