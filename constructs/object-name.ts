import type { IConstruct } from 'constructs';
import { KvasirError } from '../src/errors';

/** A DNS-1035 label: what a Service's name must be, the strictest of the objects that share it. */
const DNS_LABEL = /^[a-z](?:[-a-z0-9]{0,61}[a-z0-9])?$/;

/** @returns `name`. @throws KvasirError `name/invalid` when a Service could not carry it. */
export function objectName(construct: IConstruct, name: string): string {
  if (DNS_LABEL.test(name)) return name;
  throw new KvasirError({
    code: 'name/invalid',
    object: construct.node.path,
    field: 'name',
    message: `${JSON.stringify(name)} cannot name a Service`,
    remedy: 'use at most 63 lower-case letters, digits and dashes, a letter first',
  });
}
