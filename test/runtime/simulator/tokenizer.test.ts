import * as fc from 'fast-check';
import { approximateTokenizer, huggingFaceTokenizer } from '../../../runtime/simulator/index';
import { KvasirError } from '../../../src/errors';
import { MODEL_FOLDER } from '../../helpers/recordings';

describe('the tokenizer of a model folder', () => {
  const tokenizer = huggingFaceTokenizer(MODEL_FOLDER);

  it('gives the ids that the recorded engine gave', () => {
    expect(tokenizer.encode('import os\n')).toEqual([797, 600, 201]);
    expect(tokenizer.decode([10, 20, 30, 500])).toBe('(2<iz');
    expect(tokenizer.endOfText).toBe(2);
  });

  it('gives back every text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme-ascii' }), (text) => expect(tokenizer.decode(tokenizer.encode(text))).toBe(text)),
      { numRuns: 50 },
    );
  });

  it('names the file that cannot be read', () => {
    const read = (): unknown => huggingFaceTokenizer('/nowhere');
    expect(read).toThrow(KvasirError);
    expect(read).toThrow(/^\/nowhere\/tokenizer_config\.json: the tokenizer cannot be read/);
  });
});

describe('the approximate tokenizer', () => {
  it('gives back every text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (text) => {
        const wellFormed = Buffer.from(text, 'utf8').toString('utf8');
        expect(approximateTokenizer.decode(approximateTokenizer.encode(text))).toBe(wellFormed);
      }),
    );
  });

  it('cuts English into about four bytes a token', () => {
    const text =
      'A platform team writes its serving platform as code, synthesizes it into plain manifests for a repository, and runs it on images that know what every device has cached and what every replica costs.';
    const bytesPerToken = text.length / approximateTokenizer.encode(text).length;
    expect(bytesPerToken).toBeGreaterThan(3.5);
    expect(bytesPerToken).toBeLessThan(5);
  });

  it('cuts words the same wherever they stand', () => {
    const word = fc.stringMatching(/^[a-z]{1,12}$/);
    fc.assert(
      fc.property(fc.array(word, { minLength: 1 }), fc.array(word, { minLength: 1 }), (before, after) => {
        const [a, b] = [before.join(' '), ` ${after.join(' ')}`];
        expect(approximateTokenizer.encode(a + b)).toEqual([
          ...approximateTokenizer.encode(a),
          ...approximateTokenizer.encode(b),
        ]);
      }),
    );
  });

  it('takes special tokens in a text as one token each', () => {
    const ids = approximateTokenizer.encode('<|im_start|>user<|im_end|>');
    expect(ids.map((id) => approximateTokenizer.spelling(id))).toEqual(['<|im_start|>', 'user', '<|im_end|>']);
    expect(ids[2]).toBe(approximateTokenizer.endOfText);
  });

  it('has a text for any token id that a client may send', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 200_000 }), (id) => expect(typeof approximateTokenizer.decode([id])).toBe('string')),
    );
  });

  it('renders chats as ChatML, tools first', () => {
    const messages = [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'a' },
          { type: 'text', text: 'b' },
        ],
      },
    ];
    expect(approximateTokenizer.renderChat(messages, { addGenerationPrompt: true })).toBe(
      '<|im_start|>user\na\nb<|im_end|>\n<|im_start|>assistant\n',
    );
    expect(approximateTokenizer.renderChat(messages, { addGenerationPrompt: false, tools: [{ name: 't' }] })).toBe(
      '<|im_start|>system\n# Tools\n[{"name":"t"}]<|im_end|>\n<|im_start|>user\na\nb<|im_end|>\n',
    );
  });
});
