import * as fc from 'fast-check';
import { type GangRole, gangRequirement } from '../../../src/gang/gang-requirement';
import { addQuantities, containerRequests, timesQuantity } from '../../../src/gang/resource-list';
import { canonicalQuantity, parseQuantity } from '../../../src/quantity';

const cpu = { cpu: '100m' };
const role = (name: string, change: Partial<GangRole>): GangRole => ({
  name,
  replicas: 2,
  podsPerReplica: 2,
  entryRequests: cpu,
  workerRequests: cpu,
  ...change,
});

describe('what a gang needs', () => {
  it('prefill and decode with a smaller number of decodes: as Kthena counts', () => {
    expect(gangRequirement([role('prefill', { minReplicas: 2 }), role('decode', { minReplicas: 1 })])).toEqual({
      minMember: 6,
      minResources: { cpu: '600m' },
      subGroups: [
        { name: 'prefill', size: 2, minGroups: 2 },
        { name: 'decode', size: 2, minGroups: 1 },
      ],
    });
  });

  it('one role of two replicas of which one must fit: as Kthena counts', () => {
    expect(gangRequirement([role('llama-405b', { minReplicas: 1 })]).minMember).toBe(2);
  });

  it('no more than there are, where more are asked for', () => {
    expect(gangRequirement([role('a', { minReplicas: 9 })]).minMember).toBe(4);
  });

  it('nothing at zero replicas', () => {
    expect(gangRequirement([role('a', { replicas: 0 })])).toEqual({
      minMember: 0,
      minResources: {},
      subGroups: [{ name: 'a', size: 2, minGroups: 0 }],
    });
  });

  it('the pods of entries and workers each by their own requests', () => {
    const { minResources } = gangRequirement([
      role('a', {
        podsPerReplica: 3,
        entryRequests: { cpu: 2, memory: '16Gi', 'nvidia.com/gpu': '8' },
        workerRequests: { cpu: '500m', memory: '512Mi' },
      }),
    ]);
    expect(minResources).toEqual({ cpu: '6', memory: '34Gi', 'nvidia.com/gpu': '16' });
  });

  it('is never less when a replica more must fit', () => {
    fc.assert(
      fc.property(fc.nat(20), fc.integer({ min: 1, max: 8 }), fc.integer({ min: 1, max: 64_000 }), (replicas, pods, milli) => {
        const at = (count: number) =>
          gangRequirement([
            role('a', { replicas: count, podsPerReplica: pods, entryRequests: { cpu: `${milli}m` }, workerRequests: {} }),
          ]);
        const [few, more] = [at(replicas), at(replicas + 1)];
        expect(more.minMember - few.minMember).toBe(pods);
        const cores = ({ minResources }: typeof few) => parseQuantity(minResources.cpu ?? '0')!;
        expect(cores(more) - cores(few)).toBeCloseTo(milli / 1000, 6);
      }),
    );
  });
});

describe('sums of quantities', () => {
  it.each([
    [[{ memory: '1Gi' }, { memory: '1024Mi' }], { memory: '2Gi' }],
    [[{ memory: '1G' }, { memory: '500M' }], { memory: '1500M' }],
    [[{ cpu: '0.1' }, { cpu: 0.2 }], { cpu: '300m' }],
    [[{ a: 1 }, { b: '2' }], { a: '1', b: '2' }],
    [[], {}],
  ] as const)('%j make %j', (lists, sum) => {
    expect(addQuantities(lists)).toEqual(sum);
  });

  it('are in the form in which they stay when Volcano writes them back', () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.record({
            memory: fc.tuple(fc.integer({ min: 1, max: 5000 }), fc.constantFrom('Mi', 'Gi', 'k')).map((q) => q.join('')),
          }),
        ),
        fc.nat(12),
        (lists, count) => {
          for (const list of [addQuantities(lists), timesQuantity(lists[0] ?? {}, count)]) {
            for (const quantity of Object.values(list)) expect(canonicalQuantity(quantity)).toBe(quantity);
          }
        },
      ),
    );
  });

  it('count containers, not init containers, and requests, not limits', () => {
    const pod = {
      initContainers: [{ resources: { requests: { cpu: '9' } } }],
      containers: [{ resources: { requests: { cpu: '1' }, limits: { cpu: '4' } } }, { resources: { limits: { cpu: '7' } } }, {}],
    };
    expect(containerRequests(pod)).toEqual({ cpu: '1' });
  });

  it('name the resource whose quantity is none', () => {
    expect(() => addQuantities([{ cpu: 'many' }])).toThrow('cpu: many is no quantity');
  });
});
