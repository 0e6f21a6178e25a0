import type { Finding } from '../../src/errors';

/** A Secret whose values would be committed. */
export function secretData(object: object): readonly Finding[] {
  const { kind, apiVersion, data, stringData } = object as {
    readonly kind?: unknown;
    readonly apiVersion?: unknown;
    readonly data?: object;
    readonly stringData?: object;
  };
  if (kind !== 'Secret' || apiVersion !== 'v1') return [];
  const field = [['stringData', stringData] as const, ['data', data] as const].find(
    ([, values]) => values !== undefined && Object.keys(values).length > 0,
  )?.[0];
  if (field === undefined) return [];
  return [
    {
      code: 'secrets/in-output',
      severity: 'error',
      field,
      message: 'would be committed to the folder in plain sight',
      remedy: 'create the Secret outside of the stack and refer to it with SecretRef.existing',
    },
  ];
}
