import fc from 'fast-check';
import { stringify } from 'yaml';
import { findingLine } from '../../src/errors';
import { readManifests } from '../../src/read-manifests';

const HEAD = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n';

function dataOf(yaml: string): unknown {
  const { objects, findings } = readManifests(`${HEAD}data:\n  ${yaml}\n`, 'f.yaml');
  expect(findings.filter((finding) => finding.severity === 'error')).toEqual([]);
  return (objects[0]!.object as unknown as { data: unknown }).data;
}

function linesOf(text: string): string[] {
  return readManifests(text, 'f.yaml').findings.map(findingLine);
}

// Each right-hand side is what kubectl 1.32 makes of the left-hand side (`kubectl annotate --local -o json`).
describe('scalars are read as kubectl reads them', () => {
  it.each<[string, unknown]>([
    ['0777', 511],
    ['-0777', -511],
    ['0o777', 511],
    ['0x1F', 31],
    ['0X1F', 31],
    ['0b11', 3],
    ['1_000', 1000],
    ['1__0', 10],
    ['0_7', 7],
    ['_1', '_1'],
    ['089', 89],
    ['0o9', '0o9'],
    ['0x', '0x'],
    ['00', 0],
    ['-0', 0],
    ['+5', 5],
    ['22:22', '22:22'],
    ['1:30:00', '1:30:00'],
    ['123456789012345678901234567890', 1.2345678901234568e29],
    ['1e3', 1000],
    ['12e03', 12_000],
    ['.5', 0.5],
    ['5.', 5],
    ['-.5', -0.5],
    ['1.e3', 1000],
    ['.e3', '.e3'],
    ['1e', '1e'],
    ['1e400', '1e400'],
    ['1.2.3', '1.2.3'],
    ['1,000', '1,000'],
    ['y', true],
    ['Yes', true],
    ['yEs', 'yEs'],
    ['on', true],
    ['OFF', false],
    ['n', false],
    ['no', false],
    ['TRUE', true],
    ['tRue', 'tRue'],
    ['~', null],
    ['NULL', null],
    ['nULL', 'nULL'],
    ['', null],
    ['=', '='],
    ['2024-01-01', '2024-01-01'],
    ['2024-01-01T10:00:00Z', '2024-01-01T10:00:00Z'],
    ['"0777"', '0777'],
    ["'yes'", 'yes'],
    ['!!str 0777', '0777'],
    ['!!int "12"', 12],
    ['!!bool "yes"', true],
    ['!!float 3', 3],
    ['! 12', '12'],
    ['!foo 1', '1'],
    ['!!binary aGVsbG8=', 'hello'],
  ])('%s is %p', (yaml, value) => {
    expect(dataOf(`k: ${yaml}`)).toEqual({ k: value });
  });

  it.each<[string, Record<string, unknown>]>([
    ['0777: a', { 511: 'a' }],
    ['1.5: a', { 1.5: 'a' }],
    ['yes: a', { true: 'a' }],
    ['__proto__: a', JSON.parse('{"__proto__": "a"}')],
    ['base: &b {x: 1, z: 2}\n  m: {<<: *b, x: 3}', { base: { x: 1, z: 2 }, m: { x: 3, z: 2 } }],
  ])('key %p', (yaml, value) => {
    expect(JSON.stringify(dataOf(yaml))).toBe(JSON.stringify(value));
  });
});

it('reads back whatever a writer of YAML 1.1 writes, and whatever a writer of JSON does', () => {
  fc.assert(
    fc.property(fc.jsonValue({ stringUnit: 'binary' }), (value) => {
      const data = JSON.parse(JSON.stringify({ value }));
      const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' }, data };
      for (const text of [stringify(object, { version: '1.1' }), JSON.stringify(object), JSON.stringify(object, null, '\t')]) {
        expect(readManifests(text, 'f.yaml')).toEqual({ objects: [{ object, file: 'f.yaml', line: 1 }], findings: [] });
      }
    }),
    { numRuns: 300 },
  );
});

describe('a file of several documents', () => {
  it.each([
    ['a trailing separator', `${HEAD}---\n`, 1],
    ['empty documents and documents of comments', `---\n---\n${HEAD}---\n# nothing\n---\n\n`, 1],
    ['a separator with a comment', `${HEAD}--- # second\n${HEAD}`, 2],
    ['Windows line ends', `${HEAD}---\n${HEAD}`.replaceAll('\n', '\r\n'), 2],
    ['a byte order mark', `\uFEFF${HEAD}`, 1],
    ['an indented --- inside a block of text', `${HEAD}data:\n  a: |\n    x\n    ---\n    y\n`, 1],
    ['nothing', '', 0],
    ['null', 'null\n', 0],
    ['JSON', '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}', 1],
    ['JSON indented by tabs', '{\n\t"apiVersion": "v1",\n\t"kind": "ConfigMap",\n\t"metadata": {"name": "}"}\n}', 1],
    [
      'JSON objects one after another',
      '{"apiVersion":"v1","kind":"A","metadata":{"name":"a"}}\n{"apiVersion":"v1","kind":"B","metadata":{"name":"{"}}',
      2,
    ],
  ])('%s', (_, text, count) => {
    const { objects, findings } = readManifests(text, 'f.yaml');
    expect(findings).toEqual([]);
    expect(objects).toHaveLength(count);
  });

  it('tells for each object its file and the line where it begins', () => {
    const { objects } = readManifests(`# licence\n\n${HEAD}---\n\n${HEAD}`, 'dir/f.yaml');
    expect(objects.map(({ file, line }) => `${file}:${line}`)).toEqual(['dir/f.yaml:3', 'dir/f.yaml:8']);
  });

  it('unwraps lists, nested ones too, and gives items of a typed list its kind', () => {
    const list = [
      'apiVersion: v1',
      'kind: List',
      'items:',
      '- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}',
      '- apiVersion: v1',
      '  kind: SecretList',
      '  items:',
      '  - metadata: {name: b}',
    ].join('\n');
    const { objects } = readManifests(list, 'f.yaml');
    expect(objects.map(({ object, line }) => [object.apiVersion, object.kind, object.metadata.name, line])).toEqual([
      ['v1', 'ConfigMap', 'a', 4],
      ['v1', 'Secret', 'b', 5],
    ]);
  });

  it('keeps fields that Kvasir does not know', () => {
    const { objects } = readManifests(`${HEAD}spec: {some: [{thing: 1}]}\n`, 'f.yaml');
    expect(objects[0]!.object).toMatchObject({ spec: { some: [{ thing: 1 }] } });
  });
});

describe('a finding names file, line, object, field and remedy', () => {
  it.each([
    [
      'a: b: c\n',
      'f.yaml:1: malformed YAML: Nested mappings are not allowed in compact mappings; correct the syntax [manifest/malformed]',
    ],
    [
      `${HEAD}---\n${HEAD}data: {a: .inf}\n`,
      'f.yaml:8: malformed YAML: .inf is no JSON value; correct the syntax [manifest/malformed]',
    ],
    [`${HEAD}data: {a: *b}\n`, 'f.yaml:4: malformed YAML: *b names no anchor before it; correct the syntax [manifest/malformed]'],
    [`${HEAD}data: {null: 1}\n`, 'f.yaml:4: malformed YAML: a key must not be null; correct the syntax [manifest/malformed]'],
    [`${HEAD}---x\n${HEAD}`, 'f.yaml:4: "---x" is no document separator; write --- alone on its line [manifest/malformed]'],
    [
      'hello\n',
      'f.yaml:1: "hello" is no Kubernetes object; write apiVersion, kind and metadata, or keep other files elsewhere [manifest/not-an-object]',
    ],
    [
      'kind: Pod\nmetadata: {name: a}\n',
      'f.yaml:1: Pod a: apiVersion: is missing; add it, such as apiVersion: apps/v1 [manifest/missing-field]',
    ],
    [
      '\napiVersion: v1\nmetadata: {name: a}\n',
      'f.yaml:2: a: kind: is missing; add it, such as kind: Deployment [manifest/missing-field]',
    ],
    [
      'apiVersion: v1\nkind: Pod\n',
      'f.yaml:1: Pod: metadata.name: is missing; add it, such as name: my-model [manifest/missing-field]',
    ],
    [
      'apiVersion: v1\nkind: Pod\nmetadata: {name: 5}\n',
      'f.yaml:1: Pod: metadata.name: 5 is no string; put it in quotes [manifest/wrong-type]',
    ],
    [
      'apiVersion: v1\nkind: Pod\nmetadata: {name: a, labels: {version: 1.0}}\n',
      'f.yaml:1: Pod a: metadata.labels.version: 1 is no string; put it in quotes [manifest/wrong-type]',
    ],
    [
      `${HEAD}data: {a: 1, a: 2}\n`,
      'f.yaml:4: key "a" is given twice and only its last value counts; remove one of them [manifest/suspicious]',
    ],
    [
      `${HEAD}...\n${HEAD}`,
      'f.yaml:5: what follows the line "..." is not read; separate documents with --- [manifest/suspicious]',
    ],
  ])('%j', (text, line) => {
    expect(linesOf(text)).toEqual([line]);
  });

  it.each([
    ['values of a chart', 'replicas: 2\n'],
    ['a chart', 'apiVersion: v2\nname: chart\n'],
    ['a kustomization', 'apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [a.yaml]\n'],
  ])('is a warning for %s, which folders hold too', (_, text) => {
    expect(readManifests(text, 'f.yaml')).toMatchObject({
      objects: [],
      findings: [{ severity: 'warning', code: 'manifest/not-an-object', file: 'f.yaml:1' }],
    });
  });

  it('of one document does not hide the other documents', () => {
    const { objects, findings } = readManifests(`${HEAD}---\na: [\n---\n${HEAD}`, 'f.yaml');
    expect(objects).toHaveLength(2);
    expect(findings).toHaveLength(1);
  });

  it('stops aliases that would grow without bound', () => {
    const bomb = Array.from({ length: 12 }, (_, i) => `  k${i + 1}: &k${i + 1} [${Array(10).fill(`*k${i}`).join(',')}]`).join(
      '\n',
    );
    expect(linesOf(`${HEAD}data:\n  k0: &k0 [x]\n${bomb}\n`)).toEqual([expect.stringContaining('manifest/malformed')]);
  });
});
