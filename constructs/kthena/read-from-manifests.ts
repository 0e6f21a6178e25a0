import type { ApiObject } from 'cdk8s';

const read = new WeakSet<ApiObject>();

/** Marks an object that somebody else wrote and a stack only passes on. */
export function markReadFromManifests<T extends ApiObject>(object: T): T {
  read.add(object);
  return object;
}

/** Whether `object` was read rather than written in the stack. */
export function isReadFromManifests(object: ApiObject): boolean {
  return read.has(object);
}
