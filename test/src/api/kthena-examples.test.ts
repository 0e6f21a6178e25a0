import { decodeObject } from '../../../src/api/decode-object';
import { apiKindOf } from '../../../src/api/kinds';
import { findingLine } from '../../../src/errors';
import { kthenaExamples } from '../../helpers/kthena-examples';

const objects = kthenaExamples();

describe("Kthena's examples", () => {
  it('are all here', () => {
    expect(objects).toHaveLength(52);
  });

  it.each(objects.map(({ file, object }, i) => [i, apiKindOf(object), file, object] as const))(
    '%i %s of %s decodes without a finding, and reads as itself',
    (_i, _kind, file, object) => {
      const outcome = decodeObject(object, file);
      expect(outcome.findings.map(findingLine)).toEqual([]);
      expect(outcome.kind === 'valid' && decodeObject(outcome.value)).toEqual(outcome);
    },
  );
});
