import type { ReadOutcome } from '../outcome';
import type { TargetRef } from '../scaling';
import type { Discovery } from './discovery';
import { resourcePath } from './watched-resources';

/** The path of a workload, or of what is below it, on the API. @param below such as `scale`. @default the workload itself */
export async function scalablePath(
  discovery: Discovery,
  { namespace, name, ...target }: TargetRef,
  ...below: readonly string[]
): Promise<ReadOutcome<string>> {
  const resource = await discovery.scalable(target);
  if (resource.kind !== 'found') return resource;
  return { kind: 'found', value: resourcePath(resource.value, namespace, name, ...below) };
}
