import { Chart } from 'cdk8s';
import { GitOpsApp, ModelRoute, ModelServer, Redis, type RedisProps, SecretRef } from '../../../constructs';
import { synth } from '../../../constructs/testing';
import type { PodTemplate } from '../../../constructs/workload/pod-template';
import { coreObjectProblems } from '../../helpers/core-object-problems';

function redis(props: Partial<RedisProps> = {}) {
  const app = new GitOpsApp({ images: { mirrors: { 'docker.io/library/': 'mirror.example.com/' } } });
  const chart = new Chart(app, 'c', { namespace: 'system' });
  const made = new Redis(chart, 'redis', { password: SecretRef.existing('redis', 'password'), ...props });
  const objects = synth(chart);
  const { template } = objects.get('Deployment', made.name).spec as { readonly template: PodTemplate };
  return { made, objects, container: template.spec.containers[0]! as unknown as Record<string, unknown>, template };
}

describe('Redis', () => {
  it('asks every client for a password that no manifest holds', () => {
    const { container, objects } = redis();
    expect(container.args).toEqual(expect.arrayContaining(['--requirepass', '$(REDIS_PASSWORD)']));
    expect(container.env).toEqual([{ name: 'REDIS_PASSWORD', valueFrom: { secretKeyRef: { name: 'redis', key: 'password' } } }]);
    expect(objects.ofKind('Secret')).toEqual([]);
  });

  it('makes a Deployment and a Service of the core API, with the least rights', () => {
    const { objects, template, container } = redis();
    expect(objects.all.flatMap(coreObjectProblems)).toEqual([]);
    expect(objects.all.map(({ kind, metadata }) => `${kind} ${metadata.name}`)).toEqual([
      'Deployment kvasir-redis',
      'Service kvasir-redis',
    ]);
    expect(template.spec).toMatchObject({ automountServiceAccountToken: false, securityContext: { runAsNonRoot: true } });
    expect(container.securityContext).toMatchObject({ readOnlyRootFilesystem: true, capabilities: { drop: ['ALL'] } });
  });

  it('bounds its data below the memory of its container', () => {
    const { container } = redis({ memoryMiB: 100 });
    expect(container.args).toEqual(expect.arrayContaining(['--maxmemory', '100mb']));
    expect(container.resources).toMatchObject({ limits: { memory: '182Mi' } });
  });

  it('comes from the mirror of its registry, and may be changed like any pod', () => {
    const { made, container } = redis();
    expect(container.image).toBe('mirror.example.com/redis:7.2.5');
    made.pod.merge({ priorityClassName: 'system' });
    expect(JSON.stringify(synth(made).get('Deployment', 'kvasir-redis'))).toContain('"priorityClassName":"system"');
  });

  it('is where routers of any namespace count tokens together', () => {
    const app = new GitOpsApp();
    const shared = new Redis(new Chart(app, 'system', { namespace: 'system' }), 'r', { password: SecretRef.existing('r', 'p') });
    const models = new Chart(app, 'models', { namespace: 'llm' });
    const server = new ModelServer(models, 's', { engine: 'vLLM', podLabels: { app: 's' }, port: 8000 });
    new ModelRoute(models, 'm').splitTraffic([{ server }]).limitTokens({ inputTokens: 5, per: 'second', sharedIn: shared });
    expect(synth(models).get('ModelRoute', 'm').spec.rateLimit).toMatchObject({
      global: { redis: { address: 'kvasir-redis.system.svc:6379' } },
    });
  });
});
