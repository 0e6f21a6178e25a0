import * as api from 'kvasir/api';
import { modelRoute } from '../helpers/api-objects';

describe('kvasir/api', () => {
  it('reads objects, checks them together, and knows their CRDs, units, labels and facts', () => {
    const outcome = api.decodeObject(modelRoute);
    if (outcome.kind === 'invalid') throw new Error('invalid');
    expect(api.checkReferences([{ object: outcome.value }]).map(({ code }) => code)).toEqual(['routing/missing-server']);
    expect(api.customResourceDefinitions.map(({ spec }) => spec.names.kind)).toContain('ModelRoute');
    expect(api.parseDurationMs('1m30s')).toBe(90_000);
    expect(api.parseQuantity('16Gi')).toBe(16 * 2 ** 30);
    expect(api.Labels.modelServingRole).toBe('modelserving.volcano.sh/role');
    expect(Object.keys(api.ACCELERATORS).length).toBeGreaterThan(0);
    expect(typeof api.expandWorkload).toBe('function');
  });
});
