import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { apiKinds } from '../../src/api/kinds';
import { referencePage, referenceSections } from '../helpers/reference-page';

const sections = referenceSections();
const row = (title: string, path: string) =>
  sections.find((section) => section.title === title)!.rows.find((r) => r.path === path);

describe('docs/reference.md', () => {
  it('is what the schemas say; `npx tsx test/helpers/write-reference.ts` makes it so', () => {
    expect(readFileSync(join(__dirname, '../../docs/reference.md'), 'utf8')).toBe(referencePage());
  });

  it('has every kind and both configuration documents', () => {
    expect(sections.map(({ title }) => title)).toEqual([
      ...Object.keys(apiKinds),
      'Router configuration',
      'Autoscaler configuration',
    ]);
  });

  it.each(sections)('describes every field of $title once, with a type', ({ rows }) => {
    expect(rows.length).toBeGreaterThan(5);
    expect(rows.filter(({ description, type }) => description === '' || type === '')).toEqual([]);
    expect(new Set(rows.map(({ path }) => path)).size).toBe(rows.length);
  });

  it.each([
    ['ModelRoute', 'spec.rules[].targetModels[].weight', { type: 'integer', default: '`100`', bounds: '0 to 100' }],
    ['ModelRoute', 'spec.rules', { type: 'list of object', default: 'required', bounds: '≤ 16 elements' }],
    ['ModelServer', 'spec.inferenceEngine', { type: '`vLLM`, `SGLang`', default: 'required', bounds: '' }],
    ['ModelServer', 'spec.trafficPolicy.retry.retryInterval', { type: 'duration', default: '`100ms`', bounds: '' }],
    ['ExternalModelProvider', 'spec.auth.secretRef.name', { type: 'string', default: '`""`', bounds: '' }],
    ['AutoscalingPolicy', 'spec.metrics[].targetValue', { type: 'quantity', default: 'required', bounds: '' }],
    ['AutoscalingPolicy', 'spec.homogeneousTarget.target.metricSources{}.pod.port', { default: '`8100`', bounds: '1 to 65535' }],
    ['Router configuration', 'limits.jsonDepth', { type: 'integer', default: '`128`', bounds: '1 to 10000' }],
    ['Router configuration', 'limits', { type: 'object', default: '', bounds: '' }],
    ['Autoscaler configuration', 'algorithm', { type: '`default`, `kthena`', default: '`default`', bounds: '' }],
  ])('%s %s has its type, default and bounds', (title, path, expected) => {
    expect(row(title, path)).toMatchObject(expected);
  });

  it('sends the reader of a repeated object to where its fields are', () => {
    expect(row('AutoscalingPolicy', 'spec.behavior.scaleDown')!.description).toContain(
      'Fields: as in AutoscalingPolicy `spec.behavior.scaleUp.stablePolicy`.',
    );
    expect(row('AutoscalingPolicy', 'spec.behavior.scaleDown.instances')).toBeUndefined();
  });

  it('is a page whose table rows all have five cells', () => {
    const rows = referencePage()
      .split('\n')
      .filter((line) => line.startsWith('| '));
    expect(rows.filter((line) => line.split(/(?<!\\)\|/).length !== 7)).toEqual([]);
  });
});
