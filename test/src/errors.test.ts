import { findingLine, KvasirError } from '../../src/errors';

describe('an error that a user can act on', () => {
  it('is one line: file, object, field, what is wrong, what to do, code', () => {
    const error = new KvasirError({
      code: 'api/out-of-range',
      file: 'models/route.yaml',
      object: 'ModelRoute llm/qwen',
      field: 'spec.rules[0].targetModels[0].weight',
      message: '250 is above 100',
      remedy: 'use a weight from 0 to 100',
    });
    expect(error.message).toBe(
      'models/route.yaml: ModelRoute llm/qwen: spec.rules[0].targetModels[0].weight: 250 is above 100; use a weight from 0 to 100 [api/out-of-range]',
    );
    expect(error.code).toBe('api/out-of-range');
    expect(error.finding.severity).toBe('error');
  });

  it('leaves out what is not known', () => {
    expect(findingLine({ code: 'x', severity: 'info', message: 'all well', remedy: 'do nothing' })).toBe(
      'all well; do nothing [x]',
    );
  });
});
