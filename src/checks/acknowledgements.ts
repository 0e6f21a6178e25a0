import { describeObject, type KubeObject } from '../api/meta';
import type { Finding } from '../errors';
import { Annotations } from '../labels';

/** Findings that the objects themselves do not call fine, and those that they do. */
export interface AnnotatedFindings {
  readonly open: readonly Finding[];
  readonly acknowledged: readonly { readonly finding: Finding; readonly reason: string }[];
}

/** The annotation by which `object` acknowledges `reasons` (code → reason) beside what it does already; the same text for the same reasons. */
export function acknowledgementAnnotation(
  object: KubeObject,
  reasons: ReadonlyMap<string, string>,
): Readonly<Record<string, string>> {
  const present = reasonsIn(object.metadata.annotations?.[Annotations.acknowledged] ?? '{}') ?? {};
  const sorted = [...new Map([...Object.entries(present), ...reasons])].sort(([a], [b]) => (a < b ? -1 : 1));
  return { [Annotations.acknowledged]: JSON.stringify(Object.fromEntries(sorted)) };
}

/** Splits `findings` by the annotations of the objects that they name. An annotation that says nothing is a finding too. */
export function sortByAnnotations(findings: readonly Finding[], objects: readonly KubeObject[]): AnnotatedFindings {
  const reasons = new Map<string, Readonly<Record<string, string>>>();
  const unreadable: Finding[] = [];
  for (const object of objects) {
    const text = object.metadata.annotations?.[Annotations.acknowledged];
    if (text === undefined) continue;
    const read = reasonsIn(text);
    if (read === undefined) unreadable.push(unreadableAt(object, text));
    else reasons.set(describeObject(object), { ...reasons.get(describeObject(object)), ...read });
  }
  const open: Finding[] = [];
  const acknowledged: AnnotatedFindings['acknowledged'][number][] = [];
  for (const finding of findings) {
    const said = reasons.get(finding.object ?? '') ?? {};
    const reason = Object.hasOwn(said, finding.code) ? said[finding.code] : undefined;
    if (reason === undefined) open.push(finding);
    else acknowledged.push({ finding, reason });
  }
  return { open: [...open, ...unreadable], acknowledged };
}

function reasonsIn(text: string): Readonly<Record<string, string>> | undefined {
  let read: unknown;
  try {
    read = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (typeof read !== 'object' || read === null || Array.isArray(read)) return undefined;
  const isSaid = (reason: unknown): boolean => typeof reason === 'string' && reason.trim() !== '';
  return Object.values(read).every(isSaid) ? (read as Readonly<Record<string, string>>) : undefined;
}

function unreadableAt(object: KubeObject, text: string): Finding {
  return {
    code: 'findings/unreadable-acknowledgement',
    severity: 'warning',
    object: describeObject(object),
    field: `metadata.annotations["${Annotations.acknowledged}"]`,
    message: `${JSON.stringify(text)} acknowledges nothing`,
    remedy: 'write JSON of code and reason, such as {"images/mutable-tag":"pinned by our registry"}',
  };
}
