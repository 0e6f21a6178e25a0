import { environmentFindings, routerConfigReader } from '../../../src/config/kthena-environment';

const configOf = (environment: Readonly<Record<string, string>>, text = '{}') => {
  const decoded = routerConfigReader(environment)(text);
  if (decoded.kind === 'invalid') throw new Error(JSON.stringify(decoded.findings));
  return decoded.config;
};
const queueOf = (...given: Parameters<typeof configOf>) => configOf(...given).queue;

describe('Kthena’s variables', () => {
  it('for access log and drain stand for their fields too', () => {
    const environment = {
      ACCESS_LOG_ENABLED: 'false',
      ACCESS_LOG_FORMAT: 'json',
      ACCESS_LOG_OUTPUT: '/var/log/access.log',
      DRAIN_TIMEOUT: '90s',
    };
    expect(environmentFindings(environment)).toEqual([]);
    expect(configOf(environment, 'accessLog: {enabled: true}')).toMatchObject({
      accessLog: { enabled: true, format: 'json', output: '/var/log/access.log' },
      drain: { timeoutMs: 90_000 },
    });
    expect(environmentFindings({ ACCESS_LOG_FORMAT: 'xml', DRAIN_TIMEOUT: '0s' }).map(({ field }) => field)).toEqual([
      'ACCESS_LOG_FORMAT',
      'DRAIN_TIMEOUT',
    ]);
  });

  it('stand for fields that the document leaves out', () => {
    const environment = {
      ENABLE_FAIRNESS_SCHEDULING: 'true',
      FAIRNESS_WINDOW_SIZE: '1h',
      FAIRNESS_INPUT_TOKEN_WEIGHT: '0.5',
      FAIRNESS_OUTPUT_TOKEN_WEIGHT: '4',
      FAIRNESS_PRIORITY_TOKEN_WEIGHT: '2',
      FAIRNESS_PRIORITY_REQUEST_NUM_WEIGHT: '3',
      FAIRNESS_QUEUE_TIMEOUT: '90s',
      FAIRNESS_MAX_CONCURRENT: '7',
      ENABLE_SESSION_BOOST: 'true',
      SESSION_BOOST_HEADER: 'X-Chat',
      SESSION_BOOST_MAX_SESSIONS: '9',
      SESSION_BOOST_INFLIGHT_PER_POD: '16',
      SESSION_BOOST_GRACE_PERIOD: '150ms',
    };
    expect(environmentFindings(environment)).toEqual([]);
    expect(queueOf(environment, 'queue: {fairness: {outputTokenWeight: 1}}')).toMatchObject({
      maxWaitMs: 90_000,
      fairness: {
        enabled: true,
        windowMs: 3_600_000,
        inputTokenWeight: 0.5,
        outputTokenWeight: 1,
        priorityTokenWeight: 2,
        priorityRequestNumWeight: 3,
        maxConcurrent: 7,
      },
      sessionBoost: { enabled: true, header: 'X-Chat', maxSessions: 9, inflightPerPod: 16, gracePeriodMs: 150 },
    });
  });

  it('change nothing where they are not set, or say what is not taken, which is told', () => {
    const environment = {
      ENABLE_FAIRNESS_SCHEDULING: 'yes',
      FAIRNESS_WINDOW_SIZE: '10s',
      FAIRNESS_INPUT_TOKEN_WEIGHT: 'NaN',
      FAIRNESS_OUTPUT_TOKEN_WEIGHT: '-1',
      SESSION_BOOST_TIMEOUT: '0',
      FAIRNESS_MAX_QPS: '50',
    };
    expect(queueOf(environment)).toEqual(queueOf({}));
    expect(environmentFindings(environment).map(({ field, severity }) => [field, severity])).toEqual([
      ['ENABLE_FAIRNESS_SCHEDULING', 'warning'],
      ['FAIRNESS_WINDOW_SIZE', 'warning'],
      ['FAIRNESS_INPUT_TOKEN_WEIGHT', 'warning'],
      ['FAIRNESS_OUTPUT_TOKEN_WEIGHT', 'warning'],
      ['SESSION_BOOST_TIMEOUT', 'warning'],
      ['FAIRNESS_MAX_QPS', 'info'],
    ]);
  });

  it('leave a document alone that is wrong by itself', () => {
    const decoded = routerConfigReader({ ENABLE_FAIRNESS_SCHEDULING: 'true' })('queue: 3', 'router.yaml');
    expect(decoded).toMatchObject({ kind: 'invalid', findings: [{ field: 'queue', file: 'router.yaml' }] });
  });
});
