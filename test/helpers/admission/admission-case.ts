import type { KubeObject } from '../../../src/api/meta';

/** An object, and what must become of it, at synth and at the API server alike. */
export type AdmissionCase =
  | { readonly kind: 'accepted'; readonly name: string; readonly object: KubeObject }
  | {
      readonly kind: 'refused';
      readonly name: string;
      readonly object: KubeObject;
      /** The field that both name; the API server may leave out where in a list it is. */
      readonly field: string;
      /** Part of what the API server says. */
      readonly says: string;
    };

export const accepted = (name: string, object: KubeObject): AdmissionCase => ({ kind: 'accepted', name, object });

export const refused = (name: string, object: KubeObject, field: string, says: string): AdmissionCase => ({
  kind: 'refused',
  name,
  object,
  field,
  says,
});
