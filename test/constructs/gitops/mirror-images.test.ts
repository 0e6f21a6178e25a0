import { ApiObject, Chart } from 'cdk8s';
import * as fc from 'fast-check';
import { GitOpsApp } from '../../../constructs';
import { mirrorImages } from '../../../constructs/gitops/mirror-images';
import { mirroredImage } from '../../../constructs/images';
import { synth } from '../../../constructs/testing';
import { sampleStack } from '../../helpers/sample-stack';

const mirrors = { 'docker.io/': 'mirror.example.com/hub/', 'ghcr.io/': 'mirror.example.com/ghcr/' };

describe('mirrors', () => {
  it.each([
    ['a name without registry', 'vllm/vllm-openai:v0.32.0', 'mirror.example.com/hub/vllm/vllm-openai:v0.32.0'],
    ['a name of one word', 'redis:7.4', 'mirror.example.com/hub/library/redis:7.4'],
    ['a name with its registry', 'docker.io/vllm/vllm-openai:v0.32.0', 'mirror.example.com/hub/vllm/vllm-openai:v0.32.0'],
    ['another registry', 'ghcr.io/a/b@sha256:00', 'mirror.example.com/ghcr/a/b@sha256:00'],
    ['a registry without a mirror', 'quay.io/a/b:1', 'quay.io/a/b:1'],
    ['a local registry with a port', 'localhost:5000/a:1', 'localhost:5000/a:1'],
    ['an image that already lies there', 'mirror.example.com/hub/redis:7.4', 'mirror.example.com/hub/redis:7.4'],
  ])('rewrite %s', (_, image, expected) => {
    expect(mirroredImage(image, { mirrors })).toBe(expected);
  });

  it('rewrite an image once, however often they are applied', () => {
    const image = fc.stringMatching(/^([a-z]{1,3}\.io\/)?[a-z]{1,3}(\/[a-z]{1,3})?:[0-9]$/);
    fc.assert(
      fc.property(image, fc.constantFrom('docker.io/', 'a', 'b.io/', ''), (name, prefix) => {
        const settings = { mirrors: { [prefix]: 'mirror.example.com/x/' } };
        const once = mirroredImage(name, settings);
        expect(mirroredImage(once, settings)).toBe(once);
      }),
    );
  });

  it('reach every container of every object, image volumes and boosters, whoever made the object', () => {
    const object = {
      spec: {
        template: {
          spec: {
            containers: [{ name: 'a', image: 'a/a:1' }],
            initContainers: [{ name: 'b', image: 'a/b:1' }],
            ephemeralContainers: [{ name: 'c', image: 'a/c:1' }],
            volumes: [{ name: 'v', image: { reference: 'a/v:1' } }],
          },
        },
        backend: { workers: [{ image: 'a/w:1' }] },
      },
      data: { containers: [{ image: 'a/text:1' }] },
    };
    expect(mirrorImages(object, { mirrors: { 'a/': 'm/' } })).toEqual({
      spec: {
        template: {
          spec: {
            containers: [{ name: 'a', image: 'm/a:1' }],
            initContainers: [{ name: 'b', image: 'm/b:1' }],
            ephemeralContainers: [{ name: 'c', image: 'm/c:1' }],
            volumes: [{ name: 'v', image: { reference: 'm/v:1' } }],
          },
        },
        backend: { workers: [{ image: 'm/w:1' }] },
      },
      data: { containers: [{ image: 'a/text:1' }] },
    });
  });

  it('of an app leave no image of a stack elsewhere, engines, own images and merged sidecars included', () => {
    const { app, models, qwen } = sampleStack({
      images: {
        registry: 'registry.example.com/kvasir',
        tag: '0.1.0',
        mirrors: { ...mirrors, 'registry.example.com/': 'mirror.example.com/own/' },
      },
    });
    qwen.pools.h100.pod.merge({ containers: [{ name: 'sidecar', image: 'busybox:1.36' }] });
    new ApiObject(models, 'raw', {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'raw' },
      spec: { containers: [{ name: 'x', image: 'ghcr.io/x/y:1' }] },
    });
    const images = [...JSON.stringify(synth(app).all).matchAll(/"image":"([^"]+)"/g)].map(([, image]) => image!);
    expect(images.length).toBeGreaterThan(5);
    expect(images.filter((image) => !image.startsWith('mirror.example.com/'))).toEqual([]);
  });

  it('change nothing when there are none', () => {
    const app = new GitOpsApp();
    const spec = { containers: [{ name: 'x', image: 'r.example.com/y:1' }] };
    new ApiObject(new Chart(app, 'c'), 'p', { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p' }, spec });
    expect(synth(app).get('Pod', 'p').spec).toEqual(spec);
  });
});
