import { acknowledgementAnnotation, sortByAnnotations } from '../../../src/checks';
import type { Finding } from '../../../src/errors';

const KEY = 'kvasir.dev/acknowledged';
const pod = (name: string, annotations?: Record<string, string>) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, ...(annotations === undefined ? {} : { annotations }) },
});
const finding = (code: string, name: string): Finding => ({
  code,
  severity: 'warning',
  object: `Pod default/${name}`,
  message: 'm',
  remedy: 'r',
});

describe('what an object acknowledges', () => {
  it('is written in one order, beside what it said before', () => {
    const reasons = new Map([
      ['b/y', 'why'],
      ['a/x', 'because'],
    ]);
    expect(acknowledgementAnnotation(pod('p'), reasons)).toEqual({ [KEY]: '{"a/x":"because","b/y":"why"}' });
    const told = pod('p', { [KEY]: '{"a/x":"old","c/z":"old"}' });
    expect(acknowledgementAnnotation(told, reasons)).toEqual({ [KEY]: '{"a/x":"because","b/y":"why","c/z":"old"}' });
  });

  it('covers its code at that object, and nothing else', () => {
    const findings = [finding('a/x', 'p'), finding('a/x', 'q'), finding('b/y', 'p'), finding('constructor', 'p')];
    const { open, acknowledged } = sortByAnnotations(findings, [pod('p', { [KEY]: '{"a/x":"because"}' }), pod('q')]);
    expect(open).toEqual(findings.slice(1));
    expect(acknowledged).toEqual([{ finding: findings[0], reason: 'because' }]);
  });

  it.each(['', 'images/mutable-tag', '["a/x"]', 'null', '{"a/x":""}', '{"a/x":true}'])(
    'acknowledges nothing when it is %j, which is a finding',
    (text) => {
      const { open, acknowledged } = sortByAnnotations([finding('a/x', 'p')], [pod('p', { [KEY]: text })]);
      expect(acknowledged).toEqual([]);
      expect(open.map(({ code, object }) => [code, object])).toEqual([
        ['a/x', 'Pod default/p'],
        ['findings/unreadable-acknowledgement', 'Pod default/p'],
      ]);
    },
  );
});
