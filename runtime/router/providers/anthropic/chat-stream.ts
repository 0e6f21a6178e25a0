import { fieldsOf, type JsonFields } from '../json-fields';
import type { StreamTranslator } from '../stream-translator';
import { chatUsage } from './chat-usage';
import { finishReason } from './finish-reason';

export interface ChatStreamOptions {
  /** Epoch. */
  readonly createdSeconds: number;
  /** The client asked for a last chunk with usage. */
  readonly includesUsage: boolean;
}

/** Events of a messages stream → chunks of a chat completion. */
export class ChatStream implements StreamTranslator {
  private id: unknown;
  private model: unknown;
  private usage: JsonFields = {};
  private hasFailed = false;
  /** By index of the content block: index of the tool call. */
  private readonly calls = new Map<unknown, number>();

  constructor(private readonly options: ChatStreamOptions) {}

  event(data: string): string {
    const event = fieldsOf(JSON.parse(data));
    switch (event.type) {
      case 'message_start': {
        const message = fieldsOf(event.message);
        this.id = message.id;
        this.model = message.model;
        this.usage = fieldsOf(message.usage);
        return this.chunk({ role: 'assistant', content: '' });
      }
      case 'content_block_start':
        return this.blockStarted(event.index, fieldsOf(event.content_block));
      case 'content_block_delta':
        return this.delta(event.index, fieldsOf(event.delta));
      case 'message_delta':
        this.addUsage(fieldsOf(event.usage));
        return this.chunk({}, finishReason(fieldsOf(event.delta).stop_reason));
      case 'message_stop':
        return this.hasFailed ? '' : `${this.usageChunk()}data: [DONE]\n\n`;
      case 'error':
        return this.failed(fieldsOf(event.error));
      case 'ping':
        // Keeps the connection of a client open that waits for a long thought.
        return ': ping\n\n';
      default:
        return '';
    }
  }

  private blockStarted(index: unknown, block: JsonFields): string {
    if (block.type === 'text' && typeof block.text === 'string' && block.text !== '') return this.chunk({ content: block.text });
    if (block.type !== 'tool_use') return '';
    const call = this.calls.size;
    this.calls.set(index, call);
    const called = { name: block.name, arguments: '' };
    return this.chunk({ tool_calls: [{ index: call, id: block.id, type: 'function', function: called }] });
  }

  private delta(index: unknown, delta: JsonFields): string {
    switch (delta.type) {
      case 'text_delta':
        return this.chunk({ content: delta.text });
      case 'thinking_delta':
        return this.chunk({ reasoning: delta.thinking });
      case 'input_json_delta': {
        const call = this.calls.get(index);
        // Input of a tool that the provider runs itself.
        if (call === undefined || delta.partial_json === '') return '';
        return this.chunk({ tool_calls: [{ index: call, function: { arguments: delta.partial_json } }] });
      }
      default:
        return '';
    }
  }

  /** Later counts are totals, and those that did not change may be left out or null. */
  private addUsage(later: JsonFields): void {
    const told = Object.entries(later).filter(([, value]) => value !== null);
    this.usage = { ...this.usage, ...Object.fromEntries(told) };
  }

  private chunk(delta: JsonFields, reason: string | null = null): string {
    return this.document({ choices: [{ index: 0, delta, logprobs: null, finish_reason: reason }] });
  }

  private usageChunk(): string {
    return this.options.includesUsage ? this.document({ choices: [], usage: chatUsage(this.usage) }) : '';
  }

  private document(rest: JsonFields): string {
    const { id, model } = this;
    const head = { id, object: 'chat.completion.chunk', created: this.options.createdSeconds, model };
    return `data: ${JSON.stringify({ ...head, ...rest })}\n\n`;
  }

  private failed({ message, type }: JsonFields): string {
    this.hasFailed = true;
    return `data: ${JSON.stringify({ error: { message, type, param: null, code: type } })}\n\n`;
  }
}
