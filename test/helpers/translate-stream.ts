import { EventStreamReader } from '../../runtime/router/providers/event-stream-reader';
import type { StreamTranslator } from '../../runtime/router/providers/stream-translator';

/** What a client gets of a stream that comes in these chunks. */
export function translateStream(translator: StreamTranslator, chunks: readonly Buffer[]): string {
  const reader = new EventStreamReader();
  return chunks.flatMap((chunk) => reader.push(chunk).map((data) => translator.event(data))).join('');
}

/** The events of a stream of text as values; `[DONE]` stays a text, comments are left out. */
export function eventsOfText(stream: string): readonly unknown[] {
  return new EventStreamReader().push(Buffer.from(stream)).map((data): unknown => (data === '[DONE]' ? data : JSON.parse(data)));
}
