import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Yaml } from 'cdk8s';
import * as fc from 'fast-check';
import { manifestText } from '../../../constructs/gitops/manifest-text';
import { synth } from '../../../constructs/testing';
import { customResourceDefinitions } from '../../../src/api/custom-resource-definitions';
import { readManifests } from '../../../src/read-manifests';
import { FIXTURES } from '../../helpers/example-objects';
import { sampleStack } from '../../helpers/sample-stack';

/** Text that is hard to write in YAML: what looks like another type, marks, blanks, several lines. */
const hardText = fc.oneof(
  fc.constantFrom(
    ...[
      '',
      ' ',
      '~',
      'y',
      'No',
      'null',
      'true',
      '0777',
      '0x1F',
      '1e3',
      '1:30',
      '.inf',
      '2001-01-01',
      '<<',
      '=',
      '-',
      '- a',
      '? a',
      '#',
      'a #b',
    ],
    ...[
      'a: b',
      'a:',
      ':a',
      '{}',
      '[a',
      '&a',
      '*a',
      '!a',
      '|',
      '>',
      '%a',
      '@a',
      '`a',
      "it's",
      '"q"',
      'tab\t',
      'ü',
      '\u2028',
      'a:b',
      'a:1',
      'a/b:v1.2',
    ],
    ...[
      'a\n',
      '\na',
      'a\nb',
      ' a\n b',
      'a\n\n\n b\n',
      'trailing \nspace',
      '---\na',
      'x'.repeat(300),
      'word '.repeat(60),
      '\r',
      'a\r\nb',
      '\u0007',
    ],
    ...[
      'key: |\n  text\n',
      '--flag',
      '--flag=a b',
      '/path/to',
      'a.',
      'a.b',
      'a..b',
      'a/',
      'e:',
      'http://a.example.com/b?c=d&e',
      '12Gi',
      '500m',
      '1_000',
    ],
  ),
  fc.string(),
  fc.string({ unit: 'grapheme' }),
);
const key = fc.oneof(
  fc.constantFrom('name', 'y', 'on', 'a.b/c', '1', 'a b', 'a: b', '-', '#', '', '*', 'null', 'kvasir.dev/model'),
  fc.string({ maxLength: 20 }).filter((text) => text !== '__proto__' && !text.includes('\n')),
);
const { value } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 5 },
    hardText,
    fc.integer(),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.boolean(),
    fc.constant(null),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(key, tie('value'), { maxKeys: 4, noNullPrototype: true }),
  ),
}));

describe('manifestText', () => {
  it('writes any values as cdk8s does, byte for byte', () => {
    fc.assert(
      fc.property(fc.dictionary(key, value, { maxKeys: 4, noNullPrototype: true }), (object) => {
        // As JSON has them: no negative zero, no object twice.
        const plain = JSON.parse(JSON.stringify(object)) as object;
        expect(manifestText(plain)).toBe(Yaml.stringify(plain));
      }),
      { numRuns: 1500 },
    );
  });

  it('writes every object of a stack, and every definition, as cdk8s does', () => {
    for (const object of [...synth(sampleStack().app).all, ...customResourceDefinitions]) {
      expect(manifestText(object)).toBe(Yaml.stringify(JSON.parse(JSON.stringify(object))));
    }
  });

  it("writes each of Kthena's examples so that it reads back as it was", () => {
    const folder = join(FIXTURES, 'kthena-examples');
    const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((path) => path.endsWith('.yaml'));
    const objects = files.flatMap((file) => readManifests(readFileSync(join(folder, file), 'utf8'), file).objects);
    expect(objects.length).toBeGreaterThan(30);
    for (const { object } of objects) {
      expect(readManifests(manifestText(object), 'again').objects.map((read) => read.object)).toEqual([object]);
    }
  });

  it('refuses a key that no field can have', () => {
    expect(() => manifestText({ 'a\nb': 1 })).toThrow(RangeError);
  });
});
