import { setMaxListeners } from 'node:events';
import { type Clock, sleep } from '../../lib/clock';
import { type ChatConversation, chatBody } from '../workload/chat-workload';
import type { ChatClient, ChatResult } from './chat-client';

/** Told each answer as it comes. */
export type ResultListener = (result: ChatResult, conversation: ChatConversation, turn: number) => void;

/**
 * Plays conversations against a router as people would: each starts at its time, each turn waits for the answer before it and then for
 * the user to think. A conversation whose request fails goes on with an empty answer. Resolves when all are over or `signal` aborts.
 */
export async function driveChat(
  client: ChatClient,
  model: string,
  conversations: readonly ChatConversation[],
  clock: Clock,
  onResult: ResultListener,
  signal: AbortSignal,
): Promise<void> {
  // Each conversation waits on the signal.
  setMaxListeners(0, signal);
  await Promise.all(
    conversations.map(async (conversation) => {
      await sleep(clock, conversation.startMs, signal);
      const answers: string[] = [];
      for (let turn = 0; turn < conversation.turns.length && !signal.aborted; turn++) {
        await sleep(clock, conversation.turns[turn]!.thinkMs, signal);
        if (signal.aborted) return;
        const result = await client.send(chatBody(model, conversation, turn, answers), signal);
        if (signal.aborted) return;
        answers.push(result.text);
        onResult(result, conversation, turn);
      }
    }),
  );
}
