import { type Random, seededRandom } from '../../lib/random';

/** One exchange: the user thinks, says something, and gets an answer. */
export interface ChatTurn {
  /** From the end of the answer before (from the conversation's start for the first) to sending, in milliseconds. */
  readonly thinkMs: number;
  readonly userText: string;
  /** Most tokens of the answer. */
  readonly outputTokens: number;
}

export interface ChatConversation {
  readonly id: number;
  /** From the start of the workload, in milliseconds. */
  readonly startMs: number;
  /** Shared word for word with other conversations of the same application. */
  readonly systemPrompt: string;
  readonly turns: readonly ChatTurn[];
}

export interface ChatWorkloadOptions {
  /** Same seed, same workload. */
  readonly seed: number;
  readonly conversations: number;
  /** Within this time all conversations start: few at first, most in the middle, few at the end. In milliseconds. */
  readonly durationMs: number;
  /** Applications, each with its own system prompt; a few are used much more than the rest. @default 6 */
  readonly systemPrompts?: number;
  /** Tokens of a system prompt, on average. @default 1200 */
  readonly systemPromptTokens?: number;
  /** @default 8 */
  readonly meanTurns?: number;
  /** @default 60 */
  readonly medianUserTokens?: number;
  /** @default 160 */
  readonly medianOutputTokens?: number;
  /** @default 8000 */
  readonly meanThinkMs?: number;
}

/** A chat completion request as OpenAI's API has it. */
export interface ChatBody {
  readonly model: string;
  readonly messages: readonly { readonly role: 'system' | 'user' | 'assistant'; readonly content: string }[];
  readonly max_tokens: number;
}

/** Spread of the log-normal lengths; chosen so that the longest of a hundred is about five times the median, as in chat logs. */
const SIGMA = 0.7;
const MOST_TOKENS = 1200;
/** Share of the peak's arrival rate that is left at both ends. */
const LEAST_RATE = 0.05;

/** Common English words of one token each. */
const WORDS = (
  'the of and to in is you that it he was for on are as with his they at be this have from or one had by word but not what all were ' +
  'we when your can said there use an each which she do how their if will up other about out many then them these so some her would ' +
  'make like him into time has look two more write go see no way could my than first been call who oil its now find long down day did ' +
  'get come made may part'
).split(' ');

/** Conversations of a chat service with shared system prompts, in order of their start. Deterministic for a seed. */
export function chatWorkload(options: ChatWorkloadOptions): readonly ChatConversation[] {
  const { seed, conversations, durationMs, systemPrompts = 6, systemPromptTokens = 1200, meanTurns = 8 } = options;
  const { medianUserTokens = 60, medianOutputTokens = 160, meanThinkMs = 8000 } = options;
  const random = seededRandom(seed);
  const prompts = Array.from({ length: systemPrompts }, (_, i) =>
    sentence(random, Math.round(systemPromptTokens * (0.6 + (0.8 * (i + 0.5)) / systemPrompts))),
  );
  const starts = Array.from({ length: conversations }, () => drawStart(random) * durationMs).sort((a, b) => a - b);
  return starts.map((startMs, id) => ({
    id,
    startMs,
    // Squared, so that the first applications get most of the conversations.
    systemPrompt: prompts[Math.floor(random.next() ** 2 * systemPrompts)] ?? '',
    turns: Array.from({ length: 1 + Math.floor(random.next() * (2 * meanTurns - 1)) }, (_, turn) => ({
      thinkMs: turn === 0 ? 0 : Math.min(5 * meanThinkMs, exponential(random, meanThinkMs)),
      userText: sentence(random, logNormal(random, medianUserTokens)),
      outputTokens: logNormal(random, medianOutputTokens),
    })),
  }));
}

/**
 * The request of one turn, with everything said before.
 *
 * @param answers the answers to the turns before, in order.
 */
export function chatBody(model: string, conversation: ChatConversation, turn: number, answers: readonly string[]): ChatBody {
  const { systemPrompt, turns } = conversation;
  const messages: ChatBody['messages'][number][] = [{ role: 'system', content: systemPrompt }];
  for (let i = 0; i <= turn; i++) {
    messages.push({ role: 'user', content: turns[i]!.userText });
    if (i < turn) messages.push({ role: 'assistant', content: answers[i] ?? '' });
  }
  return { model, messages, max_tokens: turns[turn]!.outputTokens };
}

/** Text of about so many tokens. */
export function sentence(random: Random, tokens: number): string {
  return Array.from({ length: tokens }, () => WORDS[Math.floor(random.next() * WORDS.length)]!).join(' ');
}

/** A share of the duration, by an arrival rate that rises and falls once (a raised cosine). */
function drawStart(random: Random): number {
  for (;;) {
    const at = random.next();
    const rate = LEAST_RATE + (1 - LEAST_RATE) * Math.sin(Math.PI * at) ** 2;
    if (random.next() < rate) return at;
  }
}

function exponential(random: Random, mean: number): number {
  return -mean * Math.log(1 - random.next());
}

function logNormal(random: Random, median: number): number {
  const normal = Math.sqrt(-2 * Math.log(1 - random.next())) * Math.cos(2 * Math.PI * random.next());
  return Math.min(MOST_TOKENS, Math.max(1, Math.round(median * Math.exp(SIGMA * normal))));
}
