import { Construct } from 'constructs';
import { decodeKind } from '../../src/api/decode-object';
import { type ApiKind, apiKinds, isApiKind } from '../../src/api/kinds';
import type { KubeObject } from '../../src/api/meta';
import { billOf } from '../bill';
import { type Definition, structuralProblems } from './structural-schema';
import { SynthesizedObjects } from './synth';

/** The fields that an object must have; it may have more. Lists must be as long as given. */
export interface ExpectedObject {
  readonly kind: string;
  readonly metadata?: { readonly name?: string; readonly [field: string]: unknown };
  readonly [field: string]: unknown;
}

export interface CostOptions {
  /** Whether all models are at their fewest replicas or at their most. @default 'max' */
  readonly at?: 'min' | 'max';
}

interface MatcherResult {
  readonly pass: boolean;
  message(): string;
}

/** jest matchers for synthesized objects: `expect.extend(matchers)`. */
export const matchers = {
  /** Passes when one object has all fields of `expected`. The message shows where the nearest one differs. */
  toContainObject(received: unknown, expected: ExpectedObject): MatcherResult {
    if (!(received instanceof SynthesizedObjects)) {
      return { pass: false, message: () => 'toContainObject takes what synth(chart) returns' };
    }
    const differences = received.all
      .filter(({ kind }) => kind === expected.kind)
      .filter(({ metadata }) => expected.metadata?.name === undefined || metadata.name === expected.metadata.name)
      .map((object) => ({ name: object.metadata.name, paths: differingPaths(object, expected, '') }))
      .sort((a, b) => a.paths.length - b.paths.length);
    const [nearest] = differences;
    const name = `${expected.kind} ${expected.metadata?.name ?? 'of any name'}`;
    if (nearest === undefined) {
      return {
        pass: false,
        message: () => `no ${name} among ${received.all.map(({ kind, metadata }) => `${kind} ${metadata.name}`).join(', ')}`,
      };
    }
    return nearest.paths.length === 0
      ? { pass: true, message: () => `found ${expected.kind} ${nearest.name} with all of these fields` }
      : { pass: false, message: () => `${expected.kind} ${nearest.name} differs at ${nearest.paths.join('; ')}` };
  },

  /**
   * Passes when an object, or every object of the kind among what `synth` returns, is what a cluster accepts: by name for Kvasir's and
   * Kthena's kinds, with all their rules; by its CustomResourceDefinition, as read from YAML, for any other.
   */
  toBeValidFor(received: unknown, kind: ApiKind | Definition): MatcherResult {
    const name = typeof kind === 'string' ? kind : kind.spec?.names?.kind;
    if (typeof kind === 'string' && !isApiKind(kind)) {
      return {
        pass: false,
        message: () =>
          `toBeValidFor knows ${Object.keys(apiKinds).join(', ')} by name; give the CustomResourceDefinition of ${kind}`,
      };
    }
    const objects = received instanceof SynthesizedObjects ? received.ofKind(name) : [received as KubeObject];
    if (objects.length === 0) return { pass: false, message: () => `there is no ${name} to be valid` };
    const problems = objects.flatMap((object) =>
      problemsOf(object as KubeObject, kind).map((problem) => `${nameOf(object as KubeObject)}: ${problem}`),
    );
    return problems.length === 0
      ? { pass: true, message: () => `valid for ${name}: ${objects.map((object) => nameOf(object as KubeObject)).join(', ')}` }
      : { pass: false, message: () => `not valid for ${name}: ${problems.join('; ')}` };
  },

  /** Passes when everything under a construct or app costs no more per hour than `costPerHour`, in the currency of its prices. */
  toCostAtMost(received: unknown, costPerHour: number, { at = 'max' }: CostOptions = {}): MatcherResult {
    if (!Construct.isConstruct(received))
      return { pass: false, message: () => 'toCostAtMost takes an app, a chart or a construct' };
    const bill = billOf(received);
    const cost = bill[at].costPerHour;
    if (cost === undefined) {
      const unpriced = bill.lines.filter((line) => line[at].costPerHour === undefined).map(({ workload }) => workload);
      return { pass: false, message: () => `the price of ${unpriced.join(', ')} is not known; give costPerReplicaHour` };
    }
    const lines = bill.lines.map((line) => `${line.workload} ${line[at].costPerHour}`).join(', ');
    return {
      pass: cost <= costPerHour,
      message: () => `costs ${cost} an hour at ${at} replicas where ${costPerHour} is the most: ${lines}`,
    };
  },
};

function problemsOf(object: KubeObject, kind: ApiKind | Definition): readonly string[] {
  if (typeof kind !== 'string') return structuralProblems(kind, object);
  const { findings } = decodeKind(kind, object);
  return findings.filter(({ severity }) => severity === 'error').map(({ field, message }) => `${field}: ${message}`);
}

function nameOf(object: KubeObject | undefined): string {
  return `${object?.kind} ${object?.metadata?.name}`;
}

function differingPaths(actual: unknown, expected: unknown, path: string): string[] {
  if (Array.isArray(expected)) {
    if (!Array.isArray(actual) || actual.length !== expected.length) return [difference(actual, expected, path)];
    return expected.flatMap((element, index) => differingPaths(actual[index], element, `${path}[${index}]`));
  }
  if (typeof expected === 'object' && expected !== null) {
    if (typeof actual !== 'object' || actual === null) return [difference(actual, expected, path)];
    return Object.entries(expected).flatMap(([key, value]) =>
      differingPaths((actual as Readonly<Record<string, unknown>>)[key], value, path === '' ? key : `${path}.${key}`),
    );
  }
  return Object.is(actual, expected) ? [] : [difference(actual, expected, path)];
}

function difference(actual: unknown, expected: unknown, path: string): string {
  return `${path}: ${JSON.stringify(actual)} where ${JSON.stringify(expected)} is expected`;
}

declare global {
  namespace jest {
    interface Matchers<R, T> {
      toContainObject(expected: ExpectedObject): R;
      toBeValidFor(kind: ApiKind | Definition): R;
      toCostAtMost(costPerHour: number, options?: CostOptions): R;
    }
  }
}
