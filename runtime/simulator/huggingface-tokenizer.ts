import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Template } from '@huggingface/jinja';
import { Tokenizer as Tokens } from '@huggingface/tokenizers';
import { KvasirError } from '../../src/errors';
import { type ChatMessage, type ChatOptions, type Tokenizer, textOfContent } from './tokenizer';

interface TokenizerConfig {
  readonly chat_template?: string | readonly { readonly name: string; readonly template: string }[];
  readonly bos_token?: string | { readonly content: string } | null;
  readonly eos_token?: string | { readonly content: string } | null;
}

/** How Qwen2 cuts text before byte-pair encoding: digits stand alone. */
const QWEN2_SPLIT =
  "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";

/**
 * The tokenizer of a model's folder: `tokenizer.json`, `tokenizer_config.json`, and the template of either
 * `chat_template.jinja` or the configuration.
 *
 * @throws KvasirError `simulator/tokenizer` when a file is missing or not readable as what it should be.
 */
export function huggingFaceTokenizer(folder: string): Tokenizer {
  const config = readJson(folder, 'tokenizer_config.json') as TokenizerConfig;
  const tokens = new Tokens(asLoaded(readJson(folder, 'tokenizer.json') as object, modelType(folder)), config);
  const source = readOptional(folder, 'chat_template.jinja') ?? templateOf(config);
  const template = source === undefined ? undefined : new Template(source);
  const bos = contentOf(config.bos_token);
  const eos = contentOf(config.eos_token);
  const vocabularySize = 1 + Math.max(...tokens.get_vocab().values());

  return {
    vocabularySize,
    endOfText: eos === undefined ? undefined : tokens.token_to_id(eos),
    encode: (text) => tokens.encode(text).ids,
    decode: (ids) =>
      ids.length === 0 ? '' : tokens.decode([...ids], { skip_special_tokens: false, clean_up_tokenization_spaces: false }),
    spelling: (id) => tokens.id_to_token(id) ?? '',
    renderChat(messages: readonly ChatMessage[], { tools, addGenerationPrompt, variables }: ChatOptions): string {
      if (template === undefined) throw new Error('this model has no chat template');
      return template.render({
        ...variables,
        messages: messages.map((message) => ({ ...message, content: textOfContent(message.content) })),
        tools: tools ?? null,
        add_generation_prompt: addGenerationPrompt,
        bos_token: bos ?? '',
        eos_token: eos ?? '',
      });
    },
  };
}

/**
 * The tokenizer as the engines load it: for Qwen2 models transformers sets normalizer and split itself, whatever the file says, which
 * the recorded token counts show.
 */
function asLoaded(tokenizer: object, type: string | undefined): object {
  if (type !== 'qwen2') return tokenizer;
  const split = { type: 'Split', pattern: { Regex: QWEN2_SPLIT }, behavior: 'Isolated', invert: false };
  const bytes = { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: false };
  return { ...tokenizer, normalizer: { type: 'NFC' }, pre_tokenizer: { type: 'Sequence', pretokenizers: [split, bytes] } };
}

function modelType(folder: string): string | undefined {
  const config = readOptional(folder, 'config.json');
  return config === undefined ? undefined : (JSON.parse(config) as { readonly model_type?: string }).model_type;
}

function contentOf(token: TokenizerConfig['eos_token']): string | undefined {
  return typeof token === 'string' ? token : (token?.content ?? undefined);
}

function templateOf(config: TokenizerConfig): string | undefined {
  const { chat_template: template } = config;
  if (template === undefined || typeof template === 'string') return template;
  return (template.find(({ name }) => name === 'default') ?? template[0])?.template;
}

function readOptional(folder: string, file: string): string | undefined {
  try {
    return readFileSync(join(folder, file), 'utf8');
  } catch {
    return undefined;
  }
}

function readJson(folder: string, file: string): unknown {
  const path = join(folder, file);
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch (cause) {
    throw new KvasirError(
      {
        code: 'simulator/tokenizer',
        file: path,
        message: `the tokenizer cannot be read: ${(cause as Error).message}`,
        remedy:
          'give a model folder with tokenizer.json and tokenizer_config.json, or leave the tokenizer out for an approximate one',
      },
      { cause },
    );
  }
}
