import { HEALTH_SCRIPTS } from '../../../constructs/gitops/argo-health-scripts';
import { luaInterpreter, runHealthScript } from '../../helpers/lua';

const lua = luaInterpreter();

interface Row {
  readonly is: string;
  readonly kind: string;
  readonly object: object;
  readonly status: 'Healthy' | 'Progressing' | 'Degraded';
  readonly message?: RegExp;
}

const condition = (type: string, status: string, message = '') => ({ type, status, message });
const seen = { metadata: { generation: 2 } };

const TABLE: readonly Row[] = [
  { is: 'a gang whose pods are not there yet', kind: 'PodGroup', object: { status: { phase: 'Pending' } }, status: 'Healthy' },
  { is: 'a gang that waits for room', kind: 'PodGroup', object: { status: { phase: 'Inqueue' } }, status: 'Healthy' },
  { is: 'a gang that nobody has looked at', kind: 'PodGroup', object: {}, status: 'Healthy' },
  { is: 'a gang that runs', kind: 'PodGroup', object: { status: { phase: 'Running' } }, status: 'Healthy' },
  { is: 'a gang of which a part was lost', kind: 'PodGroup', object: { status: { phase: 'Unknown' } }, status: 'Progressing' },
  { is: 'a gang that failed', kind: 'PodGroup', object: { status: { phase: 'Failed' } }, status: 'Degraded', message: /Failed/ },
  ...['LeaderWorkerSet', 'ModelServing'].flatMap((kind): readonly Row[] => [
    { is: 'groups that nobody has looked at', kind, object: { spec: { replicas: 1 } }, status: 'Progressing' },
    {
      is: 'groups of which the newest spec was not seen',
      kind,
      object: { ...seen, status: { observedGeneration: 1, conditions: [condition('Available', 'True')] } },
      status: 'Progressing',
      message: /newest spec/,
    },
    {
      is: 'groups that are all ready',
      kind,
      object: { ...seen, status: { observedGeneration: 2, conditions: [condition('Available', 'True', 'all ready')] } },
      status: 'Healthy',
      message: /^all ready$/,
    },
    {
      is: 'groups that are being replaced',
      kind,
      object: { status: { conditions: [condition('Available', 'True'), condition('UpdateInProgress', 'True', 'rolling')] } },
      status: 'Progressing',
      message: /^rolling$/,
    },
    {
      is: 'groups that start',
      kind,
      object: { status: { conditions: [condition('Available', 'False'), condition('Progressing', 'True', 'starting')] } },
      status: 'Progressing',
      message: /^starting$/,
    },
    { is: 'groups that are scaled to zero', kind, object: { spec: { replicas: 0 }, status: {} }, status: 'Healthy' },
  ]),
  {
    is: 'roles that are ready',
    kind: 'DisaggregatedSet',
    object: { status: { roleStatuses: [{ name: 'decode', replicas: 2, readyReplicas: 2, updatedReplicas: 2 }] } },
    status: 'Healthy',
  },
  {
    is: 'a role that is not',
    kind: 'DisaggregatedSet',
    object: {
      status: {
        roleStatuses: [
          { name: 'prefill', replicas: 1, readyReplicas: 1, updatedReplicas: 1 },
          { name: 'decode', replicas: 2, readyReplicas: 1, updatedReplicas: 2 },
        ],
      },
    },
    status: 'Progressing',
    message: /role decode: 1 of 2/,
  },
  { is: 'roles that nobody has looked at', kind: 'DisaggregatedSet', object: {}, status: 'Progressing' },
  ...['AutoscalingPolicy', 'AutoscalingPolicyBinding', 'ModelRoute', 'ModelServer', 'ExternalModelProvider'].flatMap(
    (kind): readonly Row[] => [
      { is: 'data without a status', kind, object: {}, status: 'Healthy' },
      { is: 'data that is acted on', kind, object: { status: { conditions: [condition('Ready', 'True')] } }, status: 'Healthy' },
      {
        is: 'data that cannot be acted on',
        kind,
        object: { status: { conditions: [condition('Ready', 'False', 'no metric')] } },
        status: 'Degraded',
        message: /^no metric$/,
      },
    ],
  ),
  {
    is: 'a booster that serves',
    kind: 'ModelBooster',
    object: { status: { conditions: [condition('Active', 'True')] } },
    status: 'Healthy',
  },
  {
    is: 'a booster that serves again after a failure, whose condition Kthena leaves',
    kind: 'ModelBooster',
    object: { status: { conditions: [condition('Failed', 'True'), condition('Active', 'True')] } },
    status: 'Healthy',
  },
  {
    is: 'a booster that failed',
    kind: 'ModelBooster',
    object: { status: { conditions: [condition('Failed', 'True', 'bad image')] } },
    status: 'Degraded',
    message: /bad image/,
  },
  { is: 'a booster that starts', kind: 'ModelBooster', object: {}, status: 'Progressing' },
];

const scripts = (kind: string) => HEALTH_SCRIPTS.filter((entry) => entry.kind === kind);

if (lua === undefined) {
  process.stderr.write('no Lua interpreter here (lua5.1): the health scripts are not run\n');
}

describe('the health that Argo CD shows', () => {
  it.each(TABLE.map((row) => [row.is, row.kind, row] as const))('%s (%s)', (_, kind, { object, status, message }) => {
    if (lua === undefined) return;
    const named = { metadata: { name: 'x', generation: 1 }, ...object };
    for (const script of scripts(kind)) {
      const result = runHealthScript(lua, script.lua, named);
      expect(result.status).toBe(status);
      expect(result.message).toMatch(message ?? /.*/);
    }
  });

  it('has rows for every kind that has a script, each with all the kinds of one name', () => {
    expect([...new Set(TABLE.map(({ kind }) => kind))].sort()).toEqual(
      [...new Set(HEALTH_SCRIPTS.map(({ kind }) => kind))].sort(),
    );
    expect(scripts('PodGroup').map(({ group }) => group)).toEqual(['scheduling.volcano.sh', 'scheduling.x-k8s.io']);
  });
});
