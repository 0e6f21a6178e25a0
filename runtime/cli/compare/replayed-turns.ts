import { seededRandom } from '../../lib/random';
import { estimateTokens } from '../../router/request/prompt-size';
import { approximateTokenizer } from '../../simulator/approximate-tokenizer';
import { BlockKeys } from '../../simulator/block-keys';
import { type ChatConversation, chatBody, sentence } from '../workload/chat-workload';

/** One turn as router and engine see it: the bytes for the one, the tokens for the other. */
export interface ReplayedTurn {
  readonly thinkMs: number;
  /** What of the body the router takes for the prompt. */
  readonly promptSpan: Buffer;
  /** The router's estimate. */
  readonly estimatedTokens: number;
  readonly promptTokens: number;
  readonly outputTokens: number;
  readonly blockKeys: BlockKeys;
}

export interface ReplayedConversation {
  readonly startMs: number;
  readonly turns: readonly ReplayedTurn[];
}

/** Prepares conversations once, with answers that are the same for every policy. @param blockSize tokens per KV block. */
export function replayedConversations(
  conversations: readonly ChatConversation[],
  model: string,
  blockSize: number,
): readonly ReplayedConversation[] {
  return conversations.map((conversation) => {
    const random = seededRandom(conversation.id);
    const answers: string[] = [];
    const turns = conversation.turns.map(({ thinkMs, outputTokens }, index) => {
      const { messages } = chatBody(model, conversation, index, answers);
      const answer = sentence(random, outputTokens);
      answers.push(answer);
      return replayedTurn(thinkMs, messages, answer, blockSize);
    });
    return { startMs: conversation.startMs, turns };
  });
}

function replayedTurn(
  thinkMs: number,
  messages: ReturnType<typeof chatBody>['messages'],
  answer: string,
  blockSize: number,
): ReplayedTurn {
  const promptIds = approximateTokenizer.encode(approximateTokenizer.renderChat(messages, { addGenerationPrompt: true }));
  // An answer ends with the token that the next turn's prompt has in its place.
  const answerIds = [...approximateTokenizer.encode(answer), approximateTokenizer.endOfText ?? 0];
  const promptSpan = Buffer.from(JSON.stringify(messages));
  return {
    thinkMs,
    promptSpan,
    estimatedTokens: estimateTokens([promptSpan]),
    promptTokens: promptIds.length,
    outputTokens: answerIds.length,
    blockKeys: new BlockKeys(blockSize, {}, (position) => promptIds[position] ?? answerIds[position - promptIds.length] ?? 0),
  };
}
