import { seededRandom } from '../../../lib/random';
import { approximateTokenizer } from '../../../simulator/approximate-tokenizer';
import { BlockKeys } from '../../../simulator/block-keys';
import { type ChatBody, type ChatConversation, chatBody, sentence } from '../../workload/chat-workload';
import type { ReplayedRequest, Workload } from './workload';

/** Prepares conversations once, with answers that are the same for every policy. */
export function replayedChat(conversations: readonly ChatConversation[], model: string): Workload {
  const sessions = conversations.map((conversation) => {
    const random = seededRandom(conversation.id);
    const answers: string[] = [];
    const requests = conversation.turns.map(({ thinkMs, outputTokens }, index) => {
      const { messages } = chatBody(model, conversation, index, answers);
      const answer = sentence(random, outputTokens);
      answers.push(answer);
      return replayedTurn(thinkMs, messages, answer);
    });
    return { startMs: conversation.startMs, requests };
  });
  return { sessions };
}

function replayedTurn(thinkMs: number, messages: ChatBody['messages'], answer: string): ReplayedRequest {
  const promptIds = approximateTokenizer.encode(approximateTokenizer.renderChat(messages, { addGenerationPrompt: true }));
  // An answer ends with the token that the next turn's prompt has in its place.
  const answerIds = [...approximateTokenizer.encode(answer), approximateTokenizer.endOfText ?? 0];
  const promptSpan = Buffer.from(JSON.stringify(messages));
  const keysBySize = new Map<number, BlockKeys>();
  return {
    thinkMs,
    promptTokens: promptIds.length,
    outputTokens: answerIds.length,
    maxOutputTokens: answerIds.length,
    promptSpan: () => promptSpan,
    blockKeys: (blockSize) => {
      let keys = keysBySize.get(blockSize);
      if (keys === undefined) {
        keys = new BlockKeys(blockSize, {}, (position) => promptIds[position] ?? answerIds[position - promptIds.length] ?? 0);
        keysBySize.set(blockSize, keys);
      }
      const known = keys;
      return (index) => known.key(index);
    },
  };
}
