import { Labels } from '../src/labels';

/** Labels of every object that Kvasir's constructs make, with `own` added. */
export function ownedLabels(own: Readonly<Record<string, string>> = {}): Record<string, string> {
  return { [Labels.managedBy]: 'kvasir', ...own };
}

/** Labels of the kinds that several projects' images act on; `kvasir.dev/class` says that ours do. */
export function routedLabels(own: Readonly<Record<string, string>> = {}): Record<string, string> {
  return ownedLabels({ [Labels.class]: 'kvasir', ...own });
}
