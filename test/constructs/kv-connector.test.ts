import { Accelerator, Engine, KvConnector, SecretRef } from '../../constructs';
import type { LaunchRequest } from '../../constructs/engine/engine-spec';
import { engineWithArgs } from '../../constructs/engine/engine-with-args';
import { workingConnector } from '../../constructs/kv-connector';
import { networkEnvironment, podPatchOf } from '../../constructs/kv-connector/pod-wiring';
import { boosterKvConnector } from '../../src/api/booster-engine';
import type { ModelBoosterSpec } from '../../src/api/model-booster';
import { engineTable } from '../../src/catalog/engines/engine-table';

const vllm = Engine.vllm('0.32.0');
const sglang = Engine.sglang('0.5.23');
const custom = Engine.custom({ image: 'registry.example.com/own:1', port: 9000 });
const network = { resource: 'rdma/hca', count: 2, devices: ['mlx5_0', 'mlx5_1'] };
const request: LaunchRequest = { model: 'a/b', servedModelName: 'b', tensorParallel: 1, pipelineParallel: 1, drainSeconds: 60 };

const store = 'redis://kv-store:6379';
const connectors = {
  'nixl on vLLM': [KvConnector.nixl(), vllm],
  'nixl on vLLM, with a lease': [KvConnector.nixl({ leaseSeconds: 10, onLoadFailure: 'recompute', sideChannelPort: 5558 }), vllm],
  'nixl on SGLang': [KvConnector.nixl(), sglang],
  'mooncake on vLLM by TCP': [KvConnector.mooncake(), vllm],
  'mooncake on vLLM by RDMA': [KvConnector.mooncake({ network, abortSeconds: 60, bootstrapPort: 9998 }), vllm],
  'mooncake on SGLang by TCP': [KvConnector.mooncake(), sglang],
  'mooncake on SGLang by RDMA': [KvConnector.mooncake({ network }), sglang],
  'lmcache on vLLM': [KvConnector.lmcache({ remoteUrl: store }), vllm],
  'a shared folder on vLLM': [KvConnector.http({ sharedFolder: { claim: 'kv' } }), vllm],
  'plain HTTP on a custom engine': [KvConnector.http(), custom],
  "SGLang's bootstrap": [KvConnector.sglang({ backend: 'mori', bootstrapPort: 8999 }), sglang],
} as const;
type Case = keyof typeof connectors;
const cases = Object.keys(connectors) as Case[];

const wiringOf = (name: Case) => {
  const [connector, engine] = connectors[name];
  return connector.wiringFor(engine)!;
};
const transferConfig = (args: readonly string[]): unknown => {
  expect(args[0]).toBe('--kv-transfer-config');
  return JSON.parse(args[1]!);
};

describe('the flags of a connector', () => {
  it.each([
    ['nixl on vLLM', { kv_connector: 'NixlConnector' }],
    [
      'nixl on vLLM, with a lease',
      {
        kv_connector: 'NixlConnector',
        kv_load_failure_policy: 'recompute',
        kv_connector_extra_config: { kv_lease_duration: 10 },
      },
    ],
    ['mooncake on vLLM by TCP', { kv_connector: 'MooncakeConnector', kv_connector_extra_config: { mooncake_protocol: 'tcp' } }],
    ['mooncake on vLLM by RDMA', { kv_connector: 'MooncakeConnector' }],
    ['lmcache on vLLM', { kv_connector: 'LMCacheConnectorV1' }],
  ] as const)('%s make prefill a producer and decode a consumer', (name, config) => {
    const { prefill, decode } = wiringOf(name).roles;
    expect(transferConfig(prefill.args)).toEqual({ ...config, kv_role: 'kv_producer' });
    expect(transferConfig(decode.args)).toEqual({ ...config, kv_role: 'kv_consumer' });
  });

  it('of a shared folder let both roles load and save', () => {
    const { prefill, decode } = wiringOf('a shared folder on vLLM').roles;
    expect(transferConfig(prefill.args)).toEqual({
      kv_connector: 'ExampleConnector',
      kv_role: 'kv_both',
      kv_connector_extra_config: { shared_storage_path: '/kv' },
    });
    expect(decode.args).toEqual(prefill.args);
    const older = KvConnector.http({ sharedFolder: { claim: 'kv' } }).wiringFor(Engine.vllm('0.12.0'))!;
    expect(transferConfig(older.roles.decode.args)).toMatchObject({ kv_connector: 'SharedStorageConnector' });
  });

  it.each([
    ['nixl on SGLang', 'nixl', '8998', []],
    ['mooncake on SGLang by TCP', 'mooncake_tcp', '8998', []],
    ['mooncake on SGLang by RDMA', 'mooncake', '8998', ['--disaggregation-ib-device', 'mlx5_0,mlx5_1']],
    ["SGLang's bootstrap", 'mori', '8999', []],
  ] as const)('%s name the mode, the backend and the port', (name, backend, port, more) => {
    for (const role of ['prefill', 'decode'] as const) {
      expect(wiringOf(name).roles[role].args).toEqual([
        '--disaggregation-mode',
        role,
        '--disaggregation-transfer-backend',
        backend,
        '--disaggregation-bootstrap-port',
        port,
        ...more,
      ]);
    }
  });

  it.each(cases)('%s are known to the engine, each once, and come after its own', (name) => {
    const [, engine] = connectors[name];
    for (const { args } of Object.values(wiringOf(name).roles)) {
      const launch = engineWithArgs(engine, args).launch(request);
      expect(engine.check(launch)).toEqual([]);
      expect(launch.args).toEqual([...engine.launch(request).args, ...args]);
    }
  });

  it('name a transfer backend that this version of SGLang lists', () => {
    const { choices } = engineTable('sglang', '0.5.23').flags.get('--disaggregation-transfer-backend')!;
    for (const name of cases.filter((name) => connectors[name][1] === sglang)) {
      expect(choices).toContain(wiringOf(name).roles.decode.args[3]);
    }
  });

  it('that a user gives as well are found as given twice', () => {
    const engine = Engine.vllm('0.32.0', { extraArgs: ['--kv-transfer-config', '{}'] });
    const launch = engineWithArgs(engine, wiringOf('nixl on vLLM').roles.decode.args).launch(request);
    expect(engine.check(launch).map(({ code }) => code)).toEqual(['engine/flag-twice']);
  });

  it('are not put on the command line of a custom engine, which may write its role', () => {
    const own = Engine.custom({ image: 'i:1', port: 1, argv: ['serve', '--role={role}'] });
    const decode = engineWithArgs(own, ['--unknown']);
    expect(decode.launch({ ...request, role: 'decode' }).args).toEqual(['serve', '--role=decode']);
    expect(own.launch(request).args).toEqual(['serve', '--role=both']);
  });
});

describe('the hand-off of a connector', () => {
  it.each([
    ['nixl on vLLM', 'nixl'],
    ['mooncake on vLLM by TCP', 'mooncake'],
    ['lmcache on vLLM', 'lmcache'],
    ['plain HTTP on a custom engine', 'http'],
    // With a type, routers would speak vLLM's protocol of that name to SGLang.
    ['nixl on SGLang', undefined],
    ['mooncake on SGLang by TCP', undefined],
    ["SGLang's bootstrap", undefined],
  ] as const)('%s is %s in the ModelServer', (name, type) => {
    expect(wiringOf(name).handOff).toBe(type);
  });

  it.each(['nixl on vLLM', 'mooncake on vLLM by TCP', 'lmcache on vLLM'] as const)(
    '%s is what Kthena reads out of the same flags',
    (name) => {
      const { roles, handOff } = wiringOf(name);
      const workers = (['prefill', 'decode'] as const).map((type) => ({
        type,
        config: { 'kv-transfer-config': roles[type].args[1] },
      }));
      const spec = { backend: { workers } } as unknown as ModelBoosterSpec;
      expect(boosterKvConnector(spec)).toEqual({ kind: 'value', value: handOff });
    },
  );
});

describe('the pods of a connector', () => {
  const engineContainer = (name: Case, role: 'prefill' | 'decode', cards: typeof network | undefined = undefined) =>
    (podPatchOf(wiringOf(name).roles[role], cards).containers as readonly Record<string, unknown>[])[0]!;

  it("tell NIXL's peers their own address and port", () => {
    for (const role of ['prefill', 'decode'] as const) {
      const { env, ports } = engineContainer('nixl on vLLM', role);
      expect(env).toEqual([
        { name: 'VLLM_NIXL_SIDE_CHANNEL_HOST', valueFrom: { fieldRef: { apiVersion: 'v1', fieldPath: 'status.podIP' } } },
      ]);
      expect(ports).toEqual([{ name: 'kv-side-channel', containerPort: 5600, protocol: 'TCP' }]);
      expect(wiringOf('nixl on vLLM').roles[role].env).toEqual({ VLLM_NIXL_SIDE_CHANNEL_PORT: '5600' });
    }
    expect(wiringOf('nixl on vLLM, with a lease').roles.prefill.env).toEqual({ VLLM_NIXL_SIDE_CHANNEL_PORT: '5558' });
  });

  it.each([
    ['mooncake on vLLM by TCP', 8998],
    ['mooncake on vLLM by RDMA', 9998],
    ['mooncake on SGLang by TCP', 8998],
    ["SGLang's bootstrap", 8999],
  ] as const)('%s: prefill alone has a bootstrap server, on port %d', (name, port) => {
    expect(engineContainer(name, 'prefill').ports).toEqual([{ name: 'kv-bootstrap', containerPort: port, protocol: 'TCP' }]);
    expect(engineContainer(name, 'decode')).not.toHaveProperty('ports');
    expect(wiringOf(name).bootstrapPort).toBe(port);
  });

  it('of Mooncake on vLLM listen where they say, and keep abandoned blocks for two minutes at most', () => {
    const { prefill, decode } = wiringOf('mooncake on vLLM by TCP').roles;
    expect(prefill.env).toEqual({ VLLM_MOONCAKE_ABORT_REQUEST_TIMEOUT: '120', VLLM_MOONCAKE_BOOTSTRAP_PORT: '8998' });
    expect(decode.env).toEqual({ VLLM_MOONCAKE_ABORT_REQUEST_TIMEOUT: '120' });
  });

  it('of LMCache hash alike and know the store', () => {
    const { prefill, decode } = wiringOf('lmcache on vLLM').roles;
    expect(prefill.env).toMatchObject({ PYTHONHASHSEED: '0', LMCACHE_REMOTE_URL: store, LMCACHE_CHUNK_SIZE: '256' });
    expect(decode.env).toEqual(prefill.env);
  });

  it('take the address of a store with a password from a Secret', () => {
    const connector = KvConnector.lmcache({ remoteUrl: SecretRef.existing('kv-store', 'url') });
    const { decode } = connector.wiringFor(vllm)!.roles;
    expect(decode.env).not.toHaveProperty('LMCACHE_REMOTE_URL');
    expect(podPatchOf(decode, undefined)).toMatchObject({
      containers: [{ env: [{ name: 'LMCACHE_REMOTE_URL', valueFrom: { secretKeyRef: { name: 'kv-store', key: 'url' } } }] }],
    });
  });

  it('mount the shared folder', () => {
    expect(podPatchOf(wiringOf('a shared folder on vLLM').roles.prefill, undefined)).toEqual({
      containers: [{ name: 'engine', volumeMounts: [{ name: 'kv', mountPath: '/kv' }] }],
      volumes: [{ name: 'kv', persistentVolumeClaim: { claimName: 'kv' } }],
    });
  });

  it('ask for as many network cards as they are limited to', () => {
    const cards = { 'rdma/hca': '2' };
    expect(engineContainer('nixl on vLLM', 'decode', network).resources).toEqual({ limits: cards, requests: cards });
  });

  it.each([
    ['UCX by TCP', undefined, Accelerator.H100_SXM_80GB, true, { UCX_TLS: 'cuda_ipc,cuda_copy,tcp' }],
    [
      'UCX by RDMA on chosen cards',
      network,
      Accelerator.H100_SXM_80GB,
      true,
      {
        UCX_TLS: 'rc,sm,cuda_ipc,cuda_copy,tcp',
        UCX_SOCKADDR_TLS_PRIORITY: 'tcp',
        UCX_NET_DEVICES: 'mlx5_0:1,mlx5_1:1',
        NCCL_IB_HCA: 'mlx5_0,mlx5_1',
      },
    ],
    [
      'UCX by RDMA between GPUs of AMD',
      { resource: 'rdma/hca' },
      Accelerator.MI300X_192GB,
      true,
      { UCX_TLS: 'rc,sm,rocm_ipc,rocm_copy,tcp', UCX_SOCKADDR_TLS_PRIORITY: 'tcp' },
    ],
    ['no UCX', network, Accelerator.H100_SXM_80GB, false, { NCCL_IB_HCA: 'mlx5_0,mlx5_1' }],
    ['an accelerator whose transports are not known', undefined, Accelerator.ASCEND_910B_64GB, true, {}],
  ] as const)('set the transports of %s', (_, cards, accelerator, usesUcx, env) => {
    expect(networkEnvironment(cards, accelerator, usesUcx)).toEqual(env);
  });
});

describe('a connector', () => {
  it.each([
    [KvConnector.lmcache({ remoteUrl: store }), sglang],
    [KvConnector.http({ sharedFolder: { claim: 'kv' } }), sglang],
    [KvConnector.sglang(), vllm],
    [KvConnector.http(), vllm],
  ])('does not work everywhere (%#)', (connector, engine) => {
    expect(connector.wiringFor(engine)).toBeUndefined();
  });

  it.each([
    [vllm, 'KvConnector.nixl()', KvConnector.nixl()],
    [sglang, 'KvConnector.mooncake()', KvConnector.mooncake()],
    [custom, 'KvConnector.http()', KvConnector.http()],
  ])('that is recommended does (%#)', (engine, name, connector) => {
    expect(workingConnector(engine)).toBe(name);
    expect(connector.wiringFor(engine)).toBeDefined();
  });

  it.each([
    ['a port', () => KvConnector.nixl({ sideChannelPort: 70_000 }).wiringFor(vllm), /70000 is no port/],
    ['a URL', () => KvConnector.lmcache({ remoteUrl: 'kv-store' }), /is no URL/],
    ['a password', () => KvConnector.lmcache({ remoteUrl: 'redis://:hunter2@kv-store:6379' }), /SecretRef/],
    ['a count', () => KvConnector.nixl({ network: { resource: 'rdma/hca', count: 0 } }), /network.count 0/],
  ])('refuses %s that is none, or that must not be told', (_, make, message) => {
    expect(make).toThrow(message);
  });

  it('never repeats a password', () => {
    expect(() => KvConnector.lmcache({ remoteUrl: 'redis://:hunter2@kv-store:6379' })).toThrow(/^((?!hunter2).)*$/);
  });
});
