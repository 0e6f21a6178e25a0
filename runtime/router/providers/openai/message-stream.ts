import { elementsOf, fieldsOf, type JsonFields, stringOf } from '../json-fields';
import type { StreamTranslator } from '../stream-translator';
import { messageUsage } from './message-usage';
import { messageEnd } from './stop-reason';

const DONE = '[DONE]';

/** Chunks of a chat completion → events of a messages stream. */
export class MessageStream implements StreamTranslator {
  private hasStarted = false;
  private hasFailed = false;
  private blocks = 0;
  /** What the block that is open holds: text, or the call with this index. */
  private open: 'none' | 'text' | number = 'none';
  /** By index of the tool call: index of its content block. */
  private readonly calls = new Map<unknown, number>();
  private lastChoice: JsonFields = {};
  private usage: unknown;

  event(data: string): string {
    if (data.trim() === DONE) return this.ended();
    const chunk = fieldsOf(JSON.parse(data));
    if (chunk.error !== undefined && chunk.error !== null) return this.failed(chunk.error);
    let text = this.started(chunk);
    if (chunk.usage !== undefined && chunk.usage !== null) this.usage = chunk.usage;
    const choice = fieldsOf(elementsOf(chunk.choices)[0]);
    const delta = fieldsOf(choice.delta);
    const content = (stringOf(delta.content) ?? '') + (stringOf(delta.refusal) ?? '');
    if (content !== '') text += this.textDelta(content);
    for (const call of elementsOf(delta.tool_calls)) text += this.callDelta(fieldsOf(call));
    if (choice.finish_reason !== undefined && choice.finish_reason !== null) this.lastChoice = choice;
    return text;
  }

  private started({ id, model }: JsonFields): string {
    if (this.hasStarted) return '';
    this.hasStarted = true;
    // Chat completions tell their usage at the end; the last event corrects what is said here.
    const start = { id, type: 'message', role: 'assistant', model, content: [], stop_reason: null, stop_sequence: null };
    return event({ type: 'message_start', message: { ...start, usage: messageUsage(undefined) } });
  }

  private textDelta(content: string): string {
    let text = '';
    if (this.open !== 'text') {
      text += this.closed();
      this.open = 'text';
      text += event({ type: 'content_block_start', index: this.blocks, content_block: { type: 'text', text: '' } });
      this.blocks += 1;
    }
    return text + event({ type: 'content_block_delta', index: this.blocks - 1, delta: { type: 'text_delta', text: content } });
  }

  private callDelta(call: JsonFields): string {
    const index = typeof call.index === 'number' ? call.index : 0;
    const { name, arguments: fragment } = fieldsOf(call.function);
    let text = '';
    if (!this.calls.has(index)) {
      text += this.closed();
      this.open = index;
      this.calls.set(index, this.blocks);
      const block = { type: 'tool_use', id: call.id, name, input: {} };
      text += event({ type: 'content_block_start', index: this.blocks, content_block: block });
      this.blocks += 1;
    }
    if (typeof fragment !== 'string' || fragment === '') return text;
    const delta = { type: 'input_json_delta', partial_json: fragment };
    return text + event({ type: 'content_block_delta', index: this.calls.get(index), delta });
  }

  private closed(): string {
    if (this.open === 'none') return '';
    const index = this.open === 'text' ? this.blocks - 1 : this.calls.get(this.open);
    this.open = 'none';
    return event({ type: 'content_block_stop', index });
  }

  private ended(): string {
    if (this.hasFailed || !this.hasStarted) return '';
    const delta = messageEnd(this.lastChoice, this.calls.size > 0);
    return (
      this.closed() + event({ type: 'message_delta', delta, usage: messageUsage(this.usage) }) + event({ type: 'message_stop' })
    );
  }

  private failed(error: unknown): string {
    this.hasFailed = true;
    const { message } = fieldsOf(error);
    return event({
      type: 'error',
      error: { type: 'api_error', message: stringOf(message) ?? stringOf(error) ?? 'the provider failed' },
    });
  }
}

function event(document: { readonly type: string } & JsonFields): string {
  return `event: ${document.type}\ndata: ${JSON.stringify(document)}\n\n`;
}
