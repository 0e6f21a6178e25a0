import type { AuthConfig } from '../../../src/config/auth-config';
import { allowedModels, type Identity } from './identity';

type Claims = Readonly<Record<string, unknown>>;

/** Who a verified token speaks for. @returns undefined when it does not say. */
export function identityOfClaims(claims: Claims, names: AuthConfig['claims']): Identity | undefined {
  const user = textOf(claims, names.user);
  if (user === undefined) return undefined;
  return Object.freeze({
    kind: 'token',
    user,
    tenant: textOf(claims, names.tenant),
    priorityClass: textOf(claims, names.priorityClass),
    models: names.models === undefined ? 'all' : allowedModels(namesOf(claims, names.models)),
    claims: Object.freeze(claims),
  });
}

function textOf(claims: Claims, name: string | undefined): string | undefined {
  const value = name !== undefined && Object.hasOwn(claims, name) ? claims[name] : undefined;
  return typeof value === 'string' && value !== '' ? value : undefined;
}

function namesOf(claims: Claims, name: string): readonly string[] {
  const value = Object.hasOwn(claims, name) ? claims[name] : undefined;
  if (typeof value === 'string') return value.split(' ').filter((each) => each !== '');
  return Array.isArray(value) ? value.filter((each): each is string => typeof each === 'string') : [];
}
