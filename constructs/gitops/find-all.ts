import type { IConstruct } from 'constructs';
import { decodeObject } from '../../src/api/decode-object';
import { apiKindOf, isApiKind } from '../../src/api/kinds';
import type { KubeObject } from '../../src/api/meta';
import type { Finding } from '../../src/errors';
import { findingsOf } from '../check';
import type { Cluster } from '../cluster';
import { coexistence } from './coexistence';
import { duplicateFiles } from './duplicate-files';
import type { FoundAt } from './found-at';
import { references } from './references';
import type { RenderedObject } from './rendered-object';
import { saidOnce } from './said-once';
import { waveDeadlocks } from './wave-partners';

/** Runs every check: constructs' own, cdk8s validations, each object against its kind, and all objects together. */
export function findAll(
  constructs: readonly IConstruct[],
  rendered: readonly RenderedObject[],
  cluster: Cluster,
): readonly FoundAt[] {
  const decoded = new Map<RenderedObject, KubeObject>();
  return saidOnce([
    ...constructs.flatMap(findingsOfConstruct),
    ...rendered.flatMap((entry) => findingsOfObject(entry, decoded)),
    ...duplicateFiles(rendered),
    ...waveDeadlocks(rendered),
    ...coexistence(constructs, rendered, cluster),
    ...references(rendered, decoded, isOurs),
  ]);
}

function findingsOfConstruct(construct: IConstruct): readonly FoundAt[] {
  const found = findingsOf(construct);
  const messages = construct.node.validate();
  if (found.length === 0 && messages.length === 0) return [];
  const { path } = construct.node;
  const own = found.map((finding) => ({ ...finding, object: path }));
  const validations = messages.map(
    (message): Finding => ({
      code: 'construct/validation',
      severity: 'error',
      object: path,
      message,
      remedy: 'change what the construct was given',
    }),
  );
  return [...own, ...validations].map((finding) => ({ construct, finding }));
}

function findingsOfObject(entry: RenderedObject, decoded: Map<RenderedObject, KubeObject>): readonly FoundAt[] {
  const { object, source } = entry;
  if (!isOurs(object)) return [];
  const outcome = decodeObject(object);
  if (outcome.kind === 'valid') decoded.set(entry, outcome.value);
  return outcome.findings.map((finding) => ({ construct: source, finding: { ...finding, object: entry.place } }));
}

/** A kind of ours, or one that only looks like it: a wrong group is an error, not another kind. */
function isOurs(object: { readonly kind: string }): boolean {
  return apiKindOf(object) !== undefined || isApiKind(object.kind);
}
