import {
  type ChatConversation,
  type ChatWorkloadOptions,
  chatBody,
  chatWorkload,
} from '../../../../runtime/cli/workload/chat-workload';
import { approximateTokenizer } from '../../../../runtime/simulator/approximate-tokenizer';

const OPTIONS: ChatWorkloadOptions = { seed: 1, conversations: 400, durationMs: 100_000 };

describe('the chat workload', () => {
  const conversations = chatWorkload(OPTIONS);

  it('is the same for a seed and another for another', () => {
    expect(chatWorkload(OPTIONS)).toEqual(conversations);
    expect(chatWorkload({ ...OPTIONS, seed: 2 })).not.toEqual(conversations);
  });

  it('starts all conversations within its duration, in order', () => {
    const starts = conversations.map(({ startMs }) => startMs);
    expect(starts).toHaveLength(400);
    expect(starts).toEqual([...starts].sort((a, b) => a - b));
    expect(starts[0]).toBeGreaterThanOrEqual(0);
    expect(starts.at(-1)).toBeLessThan(100_000);
  });

  it('rises to a peak in the middle and falls again', () => {
    const fifths = [0, 0, 0, 0, 0];
    for (const { startMs } of conversations) fifths[Math.floor(startMs / 20_000)]! += 1;
    const [first, second, middle, fourth, last] = fifths as [number, number, number, number, number];
    expect(middle).toBeGreaterThan(3 * first);
    expect(middle).toBeGreaterThan(3 * last);
    expect(second).toBeGreaterThan(first);
    expect(fourth).toBeGreaterThan(last);
  });

  it('shares few system prompts between many conversations, some more than others', () => {
    const uses = new Map<string, number>();
    for (const { systemPrompt } of conversations) uses.set(systemPrompt, (uses.get(systemPrompt) ?? 0) + 1);
    expect(uses.size).toBe(6);
    expect(Math.max(...uses.values())).toBeGreaterThan(2 * Math.min(...uses.values()));
  });

  it('has the sizes that were asked for, by the tokens of the simulated engines', () => {
    const tokens = (text: string): number => approximateTokenizer.encode(text).length;
    const prompts = [...new Set(conversations.map(({ systemPrompt }) => systemPrompt))].map(tokens);
    expect(prompts.reduce((a, b) => a + b) / prompts.length).toBeGreaterThan(1000);
    expect(prompts.reduce((a, b) => a + b) / prompts.length).toBeLessThan(1500);
    const turns = conversations.flatMap((each) => each.turns);
    expect(turns.length / conversations.length).toBeGreaterThan(7);
    expect(turns.length / conversations.length).toBeLessThan(9);
    const median = (values: number[]): number => values.sort((a, b) => a - b)[values.length >> 1]!;
    expect(median(turns.map(({ outputTokens }) => outputTokens))).toBeGreaterThan(130);
    expect(median(turns.map(({ outputTokens }) => outputTokens))).toBeLessThan(190);
    expect(median(turns.map(({ userText }) => tokens(userText)))).toBeGreaterThan(50);
    for (const { thinkMs, outputTokens } of turns) {
      expect(thinkMs).toBeGreaterThanOrEqual(0);
      expect(outputTokens).toBeGreaterThanOrEqual(1);
    }
  });

  it('writes each turn as an OpenAI body with everything said before', () => {
    const conversation: ChatConversation = {
      id: 0,
      startMs: 0,
      systemPrompt: 'be brief',
      turns: ['one', 'two', 'three'].map((userText, i) => ({ thinkMs: 0, userText, outputTokens: 10 + i })),
    };
    expect(chatBody('m', conversation, 1, ['first answer', 'second answer'])).toEqual({
      model: 'm',
      messages: [
        { role: 'system', content: 'be brief' },
        { role: 'user', content: 'one' },
        { role: 'assistant', content: 'first answer' },
        { role: 'user', content: 'two' },
      ],
      max_tokens: 11,
    });
  });
});
