import { liveTable, type ModelRow, plainLine } from '../../../runtime/cli/preview/live-table';

const busy: ModelRow = {
  model: 'qwen3-8b',
  podsReady: 2,
  podsWanted: 3,
  running: 17,
  waiting: 4,
  cacheHit: 0.8125,
  ttftP50Ms: 87.4,
  ttftP90Ms: 1240,
  replicas: 3,
  bounds: { min: 1, max: 4 },
  targets: ['Deployment llm/qwen3-8b-l40s'],
  costPerHour: 3.6,
};
const idle: ModelRow = {
  ...busy,
  model: 'a-model-with-a-long-name',
  running: 0,
  waiting: 0,
  cacheHit: undefined,
  ttftP50Ms: undefined,
  ttftP90Ms: undefined,
  bounds: undefined,
  costPerHour: undefined,
};

describe('the live table', () => {
  it('has one line a model under its titles, text to the left, numbers to the right, and a dash for what nobody told', () => {
    expect(liveTable([busy, idle])).toEqual([
      'MODEL                     PODS  RUNNING  WAITING  CACHE HIT  TTFT P50  TTFT P90  REPLICAS  COST/H',
      'qwen3-8b                   2/3       17        4     81.3 %     87 ms    1.24 s   3 (1–4)    3.60',
      'a-model-with-a-long-name   2/3        0        0          –         –         –         3       –',
    ]);
  });

  it('is one plain line a model where the output is no terminal', () => {
    expect(plainLine(busy)).toBe(
      'qwen3-8b  pods 2/3  running 17  waiting 4  cache hit 81.3 %  ttft p50 87 ms  ttft p90 1.24 s  replicas 3 (1–4)  cost/h 3.60',
    );
  });
});
