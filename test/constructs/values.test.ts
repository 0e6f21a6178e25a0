import * as fc from 'fast-check';
import { Accelerator, between, Cluster, Metric, ModelSource, NodeLabels, Rollout } from '../../constructs';
import { mirroredImage, ownImage } from '../../constructs/images';
import { Replicas } from '../../constructs/replicas';
import { ACCELERATORS } from '../../src/catalog/accelerators';
import { mutableTagOf } from '../../src/checks/image-tags';

describe('values that a stack is written with', () => {
  it.each([
    ['a negative bound', () => between(-1, 2)],
    ['half a replica', () => between(1, 2.5)],
    ['nothing at most', () => between(0, 0)],
    ['a fixed number that is none', () => Replicas.from(Number.NaN)],
    ['a surge of none', () => Rollout.surge(0)],
    ['a rollout of half', () => Rollout.inPlace(0.5)],
    ['a partition below zero', () => Rollout.inPlace(1, { partition: -1 })],
    ['a share above one', () => Metric.kvCacheUsage(80)],
    ['a version that is none', () => Cluster.of({ kubernetes: 'latest' })],
    ['an unknown accelerator', () => Accelerator.named('H1000')],
    ['a repository without organization', () => ModelSource.huggingFace('gpt2')],
    ['a path out of a claim', () => ModelSource.pvc('c', '../x')],
  ])('refuse %s', (_, make) => {
    expect(make).toThrow(RangeError);
  });

  it.each([
    ['1.28', 28, true],
    ['1.31', 32, false],
    ['v1.33.2', 33, true],
    ['2.0', 99, true],
  ])('a cluster of %s is at least 1.%i: %s', (kubernetes, minor, expected) => {
    expect(Cluster.of({ kubernetes }).isAtLeast(minor)).toBe(expected);
  });

  it('name the accelerators of the catalogue as it does', () => {
    const named = Object.values(Accelerator).filter((value): value is Accelerator => value instanceof Accelerator);
    expect(named.length).toBeGreaterThan(12);
    for (const { name, facts } of named) expect(facts).toBe(ACCELERATORS.find((known) => known.name === name));
  });

  it('choose nodes by the vendor, by own labels, or not', () => {
    const own = { 'cloud.example.com/gpu': 'h100' };
    const h100 = Accelerator.H100_SXM_80GB;
    expect(NodeLabels.nvidia().selectorFor(h100)).toEqual({ 'nvidia.com/gpu.product': 'NVIDIA-H100-80GB-HBM3' });
    expect(NodeLabels.of({ [h100.name]: own }).selectorFor(h100)).toEqual(own);
    expect(NodeLabels.of({}).selectorFor(h100)).toEqual(h100.nodeSelector);
    expect(NodeLabels.none().selectorFor(h100)).toEqual({});
  });

  it('find a model in a claim where it is mounted', () => {
    expect(ModelSource.pvc('c', '/a/b/').engineArgument).toBe('/models/a/b');
    expect(ModelSource.pvc('c').engineArgument).toBe('/models');
  });
});

describe('images', () => {
  it.each([
    ['a tag', 'a/b:1.2', undefined],
    ['a digest', 'a/b@sha256:00', undefined],
    ['a port in the registry and no tag', 'r.example.com:5000/a/b', 'no tag, which means latest'],
    ['latest', 'a:latest', 'the moving tag latest'],
  ])('%s', (_, image, expected) => {
    expect(mutableTagOf(image)).toBe(expected);
  });

  it('come from the longest mirror that fits, engines and own ones alike', () => {
    const mirrors = { 'vllm/': 'm1.example.com/', 'vllm/vllm-openai': 'm2.example.com/v', 'r.example.com/': 'm3.example.com/' };
    expect(mirroredImage('vllm/vllm-openai:v1', { mirrors })).toBe('m2.example.com/v:v1');
    expect(mirroredImage('lmsysorg/sglang:v1', { mirrors })).toBe('lmsysorg/sglang:v1');
    expect(ownImage('router', { registry: 'r.example.com/k/', tag: '1', mirrors })).toBe('m3.example.com/k/kvasir-router:1');
    expect(ownImage('router', { registry: 'r.example.com' })).toBeUndefined();
  });

  it('are rewritten at their beginning only', () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[a-z]{1,5}\/[a-z]{1,5}:v[0-9]$/), fc.stringMatching(/^[a-z]{1,3}$/), (image, prefix) => {
        const result = mirroredImage(image, { mirrors: { [prefix]: 'M/' } });
        expect(result).toBe(image.startsWith(prefix) ? `M/${image.slice(prefix.length)}` : image);
      }),
    );
  });
});
