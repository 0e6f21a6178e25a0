import { engineLimits } from '../../../runtime/simulator/index';
import { PLAN } from '../../helpers/simulated-engine';

describe('limits of an engine', () => {
  const { maxModelLen: _length, maxNumSeqs: _seqs, blockSize: _size, ...bare } = PLAN;

  it.each([
    ['vLLM that says nothing', bare, { blockSize: 16, maxNumSeqs: 256, maxNumBatchedTokens: 8192, maxModelLen: 32_768 }],
    ['SGLang that says nothing', { ...bare, engine: 'sglang' as const }, { blockSize: 1, maxModelLen: 32_768 }],
    ['a catalogued model', { ...bare, model: 'Qwen/Qwen3-8B' }, { maxModelLen: 40_960 }],
    [
      'a plan that says all',
      { ...PLAN, maxNumBatchedTokens: 512 },
      { blockSize: 16, maxNumSeqs: 4, maxNumBatchedTokens: 512, maxModelLen: 1024 },
    ],
  ])('%s', (_name, plan, expected) => {
    expect(engineLimits(plan)).toMatchObject(expected);
  });
});
